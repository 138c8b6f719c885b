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

/** One embedded server for the whole run, with a CADRE_HOME that is gone afterwards. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = await mkdtemp(join(tmpdir(), 'cadre-test-home-'));
  const teardown = async () => {
    await stopServer(home);
    await rm(home, { recursive: true, force: true });
  };
  try {
    const { address } = await ensureServer({ home, onProgress: (text) => console.error(text) });
    project.provide('temporalAddress', address);
    return teardown;
  } catch (error) {
    await teardown();
    throw error;
  }
}
