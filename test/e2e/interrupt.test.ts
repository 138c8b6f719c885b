import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentView } from '../../protocol/index.ts';
import { CadreHome, pidsOf, playing } from './cadre-home.ts';

const home = new CadreHome();
const script = playing('interrupt.yaml');

beforeAll(() => mkdirSync(home.folder, { recursive: true }));
afterAll(() => home.remove());

test('interrupt ends the process group of a command within two seconds, and the agent takes input again', async () => {
  const run = home.start(['run', 'sleep for a minute', ...script], { cwd: home.folder });
  const [, id = ''] = await run.says(/session (a\w{12})/);
  await run.says(/shell · /);
  // The command's own words are found in the process list, inside the sandbox or not.
  for (let tries = 0; pidsOf('sleep 60').length === 0 && tries < 200; tries++) await sleep(50);
  expect(pidsOf('sleep 60').length).toBeGreaterThan(0);

  const interrupting = home.json<{ status: string }>(['interrupt', id]);
  await interrupting;
  const asked = Date.now();
  while (pidsOf('sleep 60').length > 0 && Date.now() - asked < 10_000) await sleep(20);
  expect(pidsOf('sleep 60')).toEqual([]);
  const gone = Date.now();

  const status = await home.json<AgentView>(['status', id]);
  expect(status).toMatchObject({ status: 'interrupted', closed: false });
  const waited = await home.run(['wait', id, '--json']);
  expect(waited.code).toBe(130);
  expect(JSON.parse(waited.stdout)).toMatchObject({ status: { [id]: { interrupted: expect.any(String) } } });
  const { events } = await home.json<{ events: { type: string; at: string }[] }>(['events', id]);
  const interrupted = Date.parse(events.find((event) => event.type === 'turn.interrupted')?.at ?? '');
  // Two seconds are promised; three more are for the command line and a busy machine.
  expect(gone - interrupted).toBeLessThan(2_000 + 3_000);

  expect((await home.run(['send', id, 'go on'])).code).toBe(0);
  const ended = await run.ended;
  expect(ended.stdout.trim()).toBe('after the interrupt: go on');
  expect(ended.code).toBe(0);
  expect(readFileSync(join(home.folder, 'sleeper.pid'), 'utf8').trim()).toMatch(/^\d+$/);
});
