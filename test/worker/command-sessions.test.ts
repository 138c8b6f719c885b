import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { eventually, processesWith, uniqueSeconds } from '../activities/sandbox/processes.ts';
import { folderWith } from '../support/folders.ts';
import { type Lines, withRealWorker } from './real-worker.ts';

const start = withRealWorker();
let temporal: Client;

beforeAll(async () => {
  temporal = new Client({ connection: await Connection.connect({ address: inject('temporalAddress') }) });
});
afterAll(() => temporal.connection.close());

const exec = (cmd: string, ms = 500): Lines[number] => ({
  calls: [{ name: 'exec_command', arguments: { cmd, tty: true, yield_time_ms: ms } }],
});
/** To the session that the first call has left. */
const look: Lines[number] = ({ items }) => {
  const outputs = items.flatMap((item) => (item.type === 'tool_output' ? [item.output] : []));
  const id = Number(/session_id (\d+)/.exec(outputs.join('\n'))?.[1]);
  return { calls: [{ name: 'write_stdin', arguments: { session_id: id, yield_time_ms: 500 } }] };
};
const sleeping = (seconds: string) => processesWith(`sleep\0${seconds}`).length;
const settings = () => ({
  working_directory: folderWith({ 'a.txt': 'x' }),
  sandbox_mode: 'danger-full-access' as const,
});

test('a command goes on after its turn; an interrupt ends the one under way alone; closing the agent ends the rest', async () => {
  const [kept, stopped] = [uniqueSeconds(), uniqueSeconds()];
  const session = await start({
    settings: settings(),
    cast: {
      root: [exec(`sleep ${kept}`), { text: 'left' }, exec(`sleep ${stopped}`, 60_000), look, { text: 'ok' }],
    },
  });
  const { root } = session;
  expect(await root.wait()).toMatchObject({ status: 'completed', message: 'left' });
  expect(sleeping(kept)).toBe(1);

  await root.send('another one');
  expect(await eventually(() => sleeping(stopped) === 1, 30_000)).toBe(true);
  await root.interrupt();
  expect(await root.wait()).toMatchObject({ status: 'interrupted' });
  expect(await eventually(() => sleeping(stopped) === 0, 5_000)).toBe(true);
  expect(sleeping(kept)).toBe(1);

  await root.send('look');
  expect(await root.wait()).toMatchObject({ status: 'completed', message: 'ok' });
  const outputs = (await session.items()).flatMap((item) =>
    item.type === 'tool_output' ? [item.output] : [],
  );
  expect(outputs.at(-1)).toMatch(/^still running/);

  await root.close();
  expect(sleeping(kept)).toBe(0);
});

test('the commands of an agent that was terminated from outside end, too', async () => {
  const seconds = uniqueSeconds();
  const { root } = await start({
    settings: settings(),
    cast: { root: [exec(`sleep ${seconds}`), { text: 'left' }] },
  });
  await root.wait();
  expect(sleeping(seconds)).toBe(1);
  await temporal.workflow.getHandle(root.id).terminate('by hand');
  expect(await eventually(() => sleeping(seconds) === 0, 60_000)).toBe(true);
});
