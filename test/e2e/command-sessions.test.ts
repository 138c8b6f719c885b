import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { eventually, processesWith, uniqueSeconds } from '../activities/sandbox/processes.ts';
import { type Answer, startModelServer } from '../support/model-server.ts';
import type { SeenRequest } from '../support/wire-requests.ts';
import { CadreHome, type Running } from './cadre-home.ts';

vi.setConfig({ testTimeout: 240_000 });

const home = new CadreHome();
afterAll(() => home.remove());

const call = (name: string, args: object): Answer => ({ calls: [{ name, arguments: args }] });
const exec = (cmd: string, more: object = {}) =>
  call('exec_command', { cmd, tty: true, yield_time_ms: 1_000, ...more });
/** To the session that a call before has started. */
const write = (request: SeenRequest, chars: string, more: object = {}) =>
  call('write_stdin', { session_id: sessionIn(request), chars, yield_time_ms: 1_000, ...more });

function sessionIn({ items }: SeenRequest): number {
  const outputs = items.flatMap((item) => (item.type === 'tool_output' ? [item.output] : []));
  const [, id] = outputs.map((output) => /session_id (\d+)/.exec(output)).find(Boolean) ?? [];
  if (id === undefined) throw new Error(`no session in ${outputs.join('\n')}`);
  return Number(id);
}

const outputsOf = ({ items }: SeenRequest): string[] =>
  items.flatMap((item) => (item.type === 'tool_output' ? [item.output] : []));

/** A model that speaks these lines. */
async function modelWith(lines: ((request: SeenRequest) => Answer | Promise<Answer>)[]) {
  const server = await startModelServer((request) => {
    const line = lines[request.answers];
    if (line === undefined) throw new Error(`no line ${request.answers}`);
    return line(request);
  });
  const options = [
    ...['-c', 'model_provider=local', '-c', `model_providers.local.base_url="${server.url}"`],
    ...['-c', 'model=test-model', '-s', 'danger-full-access'],
  ];
  return { server, options };
}

async function worker(name: string, queue = 'pair', ...more: string[]): Promise<Running> {
  const running = home.start(['worker', '--queue', queue, ...more], { env: { WORKER: name } });
  await running.says(new RegExp(`Working for the queue ${queue}`));
  return running;
}

test('of two workers on a queue, the one that holds a session gets what is typed to it; when it is killed, the model is told, and nothing runs twice', async () => {
  const workers: Record<string, Running> = { one: await worker('one'), two: await worker('two') };
  const cwd = home.newFolder('pair');
  const typed = Array.from({ length: 6 }, (_, i) => i);
  let holder = '';
  const seconds = uniqueSeconds();
  const { server, options } = await modelWith([
    () => exec(`echo holder=$WORKER; sleep ${seconds} & cat >> typed.log`),
    ...typed.map((i) => (request: SeenRequest) => write(request, `line ${i}\n`)),
    // Killed while this one is under way.
    (request) => {
      holder = /holder=(\w+)/.exec(outputsOf(request).join('\n'))?.[1] ?? '';
      setTimeout(() => workers[holder]?.child.kill('SIGKILL'), 3_000);
      return write(request, 'last\n', { yield_time_ms: 60_000 });
    },
    (request) => write(request, 'again\n'),
    () => ({ text: 'told' }),
  ]);
  const run = home.start(['run', 'type', '--queue', 'pair', '--json', ...options], { cwd });
  const { stdout, stderr } = await run.ended;
  expect(JSON.parse(stdout), stderr).toMatchObject({ status: 'completed', output: 'told' });
  const seen = server.requests.filter(({ answers }) => answers === 9).at(-1) as SeenRequest;
  const outputs = outputsOf(seen);
  for (const i of typed) expect(outputs[i + 1]).toContain(`line ${i}`);
  expect(outputs[7]).toMatch(/outcome_unknown.*session \d+ is gone with it/s);
  expect(outputs[8]).toContain('command_session_not_found');
  const lines = readFileSync(join(cwd, 'typed.log'), 'utf8').trim().split('\n');
  expect(lines).toEqual([...typed.map((i) => `line ${i}`), 'last']);
  expect(await eventually(() => processesWith(seconds).length === 0)).toBe(true);
  await server.close();
  const left = holder === 'one' ? 'two' : 'one';
  workers[left]?.child.kill('SIGTERM');
  await workers[left]?.ended;
});

test('a worker that is told to stop takes the command along that waits in a session, and the model is told when it types to it', async () => {
  const first = await worker('first', 'leaving', '--grace', '2');
  const cwd = home.newFolder('leaving');
  const seconds = uniqueSeconds();
  let second: Promise<Running> | undefined;
  let left: number[] = [];
  const { server, options } = await modelWith([
    () => exec(`sleep ${seconds} & cat >> typed.log`),
    // Asked by the first worker, which is not done before this call is given up, and then by the second.
    async (request) => {
      second ??= worker('second', 'leaving', '--grace', '2');
      await second;
      first.child.kill('SIGTERM');
      expect((await first.ended).code).toBe(0);
      left = processesWith(seconds);
      return write(request, 'is anybody there?\n');
    },
    () => ({ text: 'told' }),
  ]);
  const run = home.start(['run', 'type', '--queue', 'leaving', '--json', ...options], { cwd });
  const { stdout, stderr } = await run.ended;
  expect(JSON.parse(stdout), stderr).toMatchObject({ status: 'completed', output: 'told' });
  expect(left).toEqual([]);
  const outputs = outputsOf(server.requests.at(-1) as SeenRequest);
  expect(outputs[0]).toMatch(/session_id \d+/);
  expect(JSON.parse(outputs[1] ?? '')).toMatchObject({ error: { code: 'command_session_not_found' } });
  expect(readFileSync(join(cwd, 'typed.log'), 'utf8')).toBe('');
  await server.close();
  (await second)?.child.kill('SIGTERM');
  await (await second)?.ended;
});
