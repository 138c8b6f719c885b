import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CadreError } from '../../protocol/index.ts';
import { ensureServer, serverStatus, stopServer } from '../../server/index.ts';
import { emptyHome, eventually, serverPids } from './homes.ts';

/** Stops a process, and waits until the last of its threads stands still. */
async function halt(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const tasks = `/proc/${pid}/task`;
  const stands = (task: string) => /\) T /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8'));
  await eventually(() => readdirSync(tasks).every(stands));
}

test('a server that hangs is named, not doubled, and can be stopped and started again', async () => {
  const home = emptyHome();
  const { pid, address } = await ensureServer({ home });
  await halt(pid);
  const error = await ensureServer({ home, answerMs: 3_000 }).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(CadreError);
  expect(error).toMatchObject({
    code: 'server_unavailable',
    message: expect.stringContaining(`process ${pid}) runs, but does not answer at ${address}`),
    hint: expect.stringContaining('cadre server stop'),
    retryable: true,
  });
  await expect(serverStatus(home)).rejects.toMatchObject({ code: 'server_unavailable' });
  expect(serverPids(home)).toEqual([pid]);
  expect(await stopServer(home)).toBe(true);
  expect((await ensureServer({ home })).address).toBe(address);
});

test('a server that was only slow to answer is used', async () => {
  const home = emptyHome();
  const before = await ensureServer({ home });
  await halt(before.pid);
  setTimeout(() => process.kill(before.pid, 'SIGCONT'), 4_000);
  expect(await ensureServer({ home })).toEqual(before);
});
