import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { ensureServer, stopServer } from '../../server/index.ts';
import { type Connections, connect, disconnect } from './connect.ts';
import { PATIENCE } from './patience.ts';
import { ScriptedWorker } from './scripted-worker.ts';
import { expectSoundHistories } from './with-worker.ts';

export interface ShortRuns {
  /** The CADRE_HOME of the server. */
  home: string;
  worker: ScriptedWorker;
}

/**
 * A worker for the tests of a file on a server of its own, which wants a new run of an agent after few events.
 *
 * @param events after so many
 * @param options `endMs`: what looking at all histories may take; `forgets`: not all of them are there in the end
 */
export function withShortRuns(
  events: number,
  { endMs, forgets = false }: { endMs?: number; forgets?: boolean } = {},
): () => ShortRuns {
  let place: (ShortRuns & { connections: Connections }) | undefined;
  beforeAll(async () => {
    const home = await mkdtemp(join(tmpdir(), 'cadre-test-home-'));
    const { address } = await ensureServer({
      home,
      extraArgs: ['--dynamic-config-value', `limit.historyCount.suggestContinueAsNew=${events}`],
    });
    const connections = await connect(address);
    place = { home, connections, worker: new ScriptedWorker(connections) };
    await place.worker.run();
  }, 120_000 * PATIENCE);
  afterAll(
    async () => {
      if (place === undefined) return;
      const { home, connections, worker } = place;
      await worker.stop();
      if (!forgets) await expectSoundHistories(worker);
      await disconnect(connections);
      await stopServer(home);
      await rm(home, { recursive: true, force: true });
    },
    endMs ?? 120_000 * PATIENCE,
  );
  return () => {
    if (place === undefined) throw new Error('it is not there before the tests');
    return place;
  };
}
