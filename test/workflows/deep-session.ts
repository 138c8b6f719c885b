import { lines, never, say, spawn, waitForAll } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import type { ScriptedWorker } from './scripted-worker.ts';

/** Three levels: the root waits for its child, which waits for its own, whose model never answers. */
export async function deepSession(worker: ScriptedWorker): Promise<ScriptedSession> {
  const session = await worker.start({
    script: lines({
      root: [spawn('x'), waitForAll, say('ok')],
      'default-1': [spawn('deeper'), waitForAll, say('done')],
      'default-1/default-1': [never],
    }),
  });
  await session.until('default-1/default-1', ({ waiting_for }) => waiting_for === 'model');
  await session.until('default-1', ({ waiting_for }) => waiting_for === 'agents');
  return session;
}
