import { existsSync, linkSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { afterAll, expect, test, vi } from 'vitest';
import type { AgentEvent } from '../../protocol/index.ts';
import { processesWith, uniqueSeconds } from '../activities/sandbox/processes.ts';
import type { Answer } from '../support/model-server.ts';
import type { SeenRequest } from '../support/wire-requests.ts';
import { CadreHome, type Running } from './cadre-home.ts';
import { call, PLAYED, PlayedModel } from './played-model.ts';

const ROUNDS = Number(process.env.CADRE_INTERRUPT_ROUNDS ?? 1);
vi.setConfig({ testTimeout: 120_000 + ROUNDS * 120_000 });

const SMALL_SERVER = fileURLToPath(new URL('../activities/mcp/small-server.ts', import.meta.url));
const SLOW_TOOLS = fileURLToPath(new URL('./slow-tools.ts', import.meta.url));
/** Two seconds are promised and measured (docs/figures.md); a machine that is busy with other tests takes longer. */
const MOST_MS = 10_000;
const BIG_TEXTS = 3_000;

const model = new PlayedModel();
const home = new CadreHome();
afterAll(() => home.remove());

/** What a tool is called with, what shows that the call is under way, and what that nothing of it is left. */
interface Case {
  calls: ((request: SeenRequest) => Answer)[];
  isUnderWay(): boolean;
  isGone(): boolean;
}

const count = (path: string, line: string) =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((one) => one === line).length
    : 0;

function casesIn(folder: string): Record<string, () => Case> {
  const running = (callsWith: (seconds: string) => Case['calls'], sign?: string) => (): Case => {
    const seconds = uniqueSeconds();
    const find = () => processesWith(sign ?? `sleep ${seconds}`).length;
    return { calls: callsWith(seconds), isUnderWay: () => find() > 0, isGone: () => find() === 0 };
  };
  const noted = (calls: Case['calls'], log: string, begin: string, end?: string) => (): Case => {
    const path = join(folder, log);
    const [begun, ended] = [count(path, begin), count(path, end ?? '')];
    return {
      calls,
      isUnderWay: () => count(path, begin) > begun,
      isGone: () => end === undefined || count(path, end) > ended,
    };
  };
  return {
    // First, so that all that a worker starts with its first command starts beside a terminal.
    exec_command: running((seconds) => [
      () =>
        call('exec_command', {
          cmd: `trap '' TERM INT HUP; sleep ${seconds} & sleep ${seconds}`,
          tty: true,
          yield_time_ms: 600_000,
        }),
    ]),
    shell: running((seconds) => [
      () => call('shell', { command: `trap '' TERM INT; sleep ${seconds} | cat`, timeout_ms: 600_000 }),
    ]),
    write_stdin: running((seconds) => [
      () => call('exec_command', { cmd: `sleep ${seconds} & cat`, tty: true, yield_time_ms: 500 }),
      (request) => {
        const [, id] = /session_id (\d+)/.exec(request.outputs.join()) ?? [];
        return call('write_stdin', { session_id: Number(id), yield_time_ms: 600_000 });
      },
    ]),
    grep_files: running(
      () => [() => call('grep_files', { pattern: '[a-w]{3}\\d{2}[a-w]', path: join(folder, 'texts') })],
      join(folder, 'texts'),
    ),
    mcp__small__sleep: noted(
      [() => call('mcp__small__sleep', { ms: 600_000 })],
      'small.log',
      'call sleep',
      'cancelled',
    ),
    slow_write: noted([() => call('slow_write', { log: 'own.log' })], 'own.log', 'x', 'stopped'),
    deaf_write: noted([() => call('deaf_write', { log: 'deaf.log' })], 'deaf.log', 'x'),
  };
}

function prepare(): string {
  const folder = home.newFolder('interrupted');
  mkdirSync(join(folder, 'texts'));
  writeFileSync(join(folder, 'texts/0'), `${'abcdefg hi jk '.repeat(6)}\n`.repeat(200_000));
  // Much to search, and no more to store than one.
  for (let i = 1; i < BIG_TEXTS; i++) linkSync(join(folder, 'texts/0'), join(folder, 'texts', String(i)));
  mkdirSync(join(home.root, '.cadre'), { recursive: true });
  const args = JSON.stringify([SMALL_SERVER, 'good', join(folder, 'small.log')]);
  writeFileSync(
    join(home.root, '.cadre/config.toml'),
    `[mcp_servers.small]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${args}\ntools_approved = ["*"]\n`,
  );
  return folder;
}

async function until<T>(
  look: () => Promise<T | undefined> | T | undefined,
  what: string,
  eachMs = 5,
): Promise<T> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(eachMs)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`not within a minute: ${what}`);
}

/** A session that does what it is told by its inputs, and a way to its events. */
class Interruptible {
  readonly #handle: WorkflowHandle;
  #seq = 0;

  constructor(handle: WorkflowHandle) {
    this.#handle = handle;
  }

  send = (message: string) => this.#handle.signal('send_input', { message });
  interrupt = () => this.#handle.signal('interrupt', {});

  /** The next of a type. */
  next(type: AgentEvent['type']): Promise<AgentEvent> {
    const look = async () => {
      const { events } = await this.#handle.query<{ events: AgentEvent[] }, [{ after: number }]>('events', {
        after: this.#seq,
      });
      const found = events.find((event) => event.type === type);
      if (found !== undefined) this.#seq = found.seq;
      return found;
    };
    return until(look, `an event ${type}`, 50);
  }
}

async function worker(cwd: string): Promise<Running> {
  const running = home.start(['worker', '--queue', 'calm', '--tools', SLOW_TOOLS], { cwd, env: model.env });
  await running.says(/Working for the queue/);
  return running;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

test('an interrupt ends the call of every tool that takes long, with its process group and its terminal', async () => {
  const folder = prepare();
  const cases = casesIn(folder);
  const held = await worker(folder);
  // Interrupted, a session of `cadre run` stays open, and takes the next input.
  let calls: Case['calls'] = [() => call('deaf_write', { log: 'first.log' })];
  let steps = 0;
  model.play = (request) => calls[steps++]?.(request) ?? { text: `${request.input} is over` };
  const run = home.start(['run', 'begin', '--queue', 'calm', '--jsonl', ...PLAYED], {
    cwd: folder,
    env: model.env,
  });
  const [, id = ''] = (await run.says(/"session_id":"([^"]+)"/)) ?? [];
  const { address } = await home.json<{ address: string }>(['server', 'status']);
  const connection = await Connection.connect({ address });
  const figures = new Map<string, { gone: number[]; end: number[] }>();
  try {
    const session = new Interruptible(new Client({ connection }).workflow.getHandle(id));
    await until(() => existsSync(join(folder, 'first.log')) || undefined, 'the first call');
    await session.interrupt();
    await session.next('turn.interrupted');
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, prepared] of Object.entries(cases)) {
        const { isUnderWay, isGone, ...rest } = prepared();
        calls = rest.calls;
        steps = 0;
        await session.send(`${name} ${round}`);
        await until(() => (steps === calls.length && isUnderWay()) || undefined, `${name} is under way`);
        // The call of write_stdin shows nothing by which it could be seen.
        await sleep(1_000);
        const asked = Date.now();
        await session.interrupt();
        const ended = session.next('turn.interrupted');
        const gone = await until(() => (isGone() ? Date.now() - asked : undefined), `the end of ${name}`);
        const end = Date.parse((await ended).at) - asked;
        expect(Math.max(gone, end), name).toBeLessThan(MOST_MS);
        const figure = figures.get(name) ?? { gone: [], end: [] };
        figures.set(name, { gone: [...figure.gone, gone], end: [...figure.end, end] });
      }
    }
    for (const [name, { gone, end }] of figures) {
      console.log(
        `${name}: gone after ${median(gone)} ms, the turn after ${median(end)} ms (${ROUNDS} rounds)`,
      );
    }
    calls = [];
    await session.send('tell');
    const told = await until(() => model.requests.find(({ input }) => input === 'tell'), 'the last answer');
    const outputs = told.items.flatMap((item) => (item.type === 'tool_output' ? [item.output] : []));
    expect(outputs.filter((output) => output.includes('interrupted'))).toHaveLength(
      1 + ROUNDS * Object.keys(cases).length,
    );
  } finally {
    await connection.close();
  }
  await run.ended;
  held.child.kill('SIGTERM');
  await held.ended;
});
