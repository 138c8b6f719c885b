import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ensureServer, stopServer } from '../../server/index.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** host:port of the Temporal server of this test run. */
    temporalAddress: string;
  }
}

/** With this every agent moves to a new run after so many events, instead of 4,096: what works in one has to work so. */
const RUN_EVENTS = process.env.CADRE_TEST_RUN_EVENTS;

/** One embedded server for the whole run, with a CADRE_HOME that is gone afterwards. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = await mkdtemp(join(tmpdir(), 'cadre-test-home-'));
  const teardown = async () => {
    await stopServer(home);
    await rm(home, { recursive: true, force: true });
  };
  try {
    const { address } = await ensureServer({
      home,
      onProgress: (text) => console.error(text),
      extraArgs:
        RUN_EVENTS === undefined
          ? []
          : ['--dynamic-config-value', `limit.historyCount.suggestContinueAsNew=${RUN_EVENTS}`],
    });
    project.provide('temporalAddress', address);
    return teardown;
  } catch (error) {
    await teardown();
    throw error;
  }
}
