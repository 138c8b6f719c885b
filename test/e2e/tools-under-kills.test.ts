import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { eventually, processesWith, uniqueSeconds } from '../activities/sandbox/processes.ts';
import type { Answer } from '../support/model-server.ts';
import type { SeenRequest } from '../support/wire-requests.ts';
import { CadreHome, type Running } from './cadre-home.ts';
import { call, PLAYED, PlayedModel } from './played-model.ts';

vi.setConfig({ testTimeout: 300_000 });

const SMALL_SERVER = fileURLToPath(new URL('../activities/mcp/small-server.ts', import.meta.url));
const SLOW_TOOLS = fileURLToPath(new URL('./slow-tools.ts', import.meta.url));
/** Enough for a patch to be hit in the middle. */
const FILES = 300;
const QUEUE = 'struck';
const PATIENCE_MS = 120_000;

const model = new PlayedModel();
const home = new CadreHome();
afterAll(() => home.remove());

const memory = join(home.home, 'memory.md');
const linesOf = (path: string) =>
  existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
const outputsOf = ({ items }: SeenRequest) =>
  items.flatMap((item) => (item.type === 'tool_output' ? [item.output] : []));
const filesBelow = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const),
  );

/** What the agent of each name does, and where the effects of its last call are counted. */
interface Part {
  calls: ((request: SeenRequest) => Answer)[];
  /** As many lines as there were effects. */
  effects?: () => string[];
  /** The call is short: it is made shortly before the worker is killed. */
  isShort?: true;
}

function partsIn(folder: string, seconds: string, note: string): Record<string, Part> {
  const log = (name: string) => () => linesOf(join(folder, name));
  const updates = Array.from({ length: FILES }, (_, i) => [
    `*** Update File: many/${i}`,
    '@@',
    '-old',
    '+new',
  ]);
  return {
    shell: {
      calls: [() => call('shell', { command: `echo x >> shell.log; sleep ${seconds}`, timeout_ms: 600_000 })],
      effects: log('shell.log'),
    },
    exec_command: {
      calls: [
        () =>
          call('exec_command', {
            cmd: `echo x >> exec.log; sleep ${seconds}`,
            tty: true,
            yield_time_ms: 600_000,
          }),
      ],
      effects: log('exec.log'),
    },
    write_stdin: {
      calls: [
        () =>
          call('exec_command', { cmd: `sleep ${seconds} & cat >> typed.log`, tty: true, yield_time_ms: 500 }),
        (request) => {
          const [, id] = /session_id (\d+)/.exec(outputsOf(request)[0] ?? '') ?? [];
          return call('write_stdin', { session_id: Number(id), chars: 'x\n', yield_time_ms: 600_000 });
        },
      ],
      effects: log('typed.log'),
    },
    mcp__small__sleep: {
      calls: [() => call('mcp__small__sleep', { ms: 600_000 })],
      effects: () => linesOf(join(home.root, 'small.log')).filter((line) => line === 'call sleep'),
    },
    slow_write: { calls: [() => call('slow_write', { log: 'own.log' })], effects: log('own.log') },
    slow_read: { calls: [() => call('slow_read', { log: 'read.log' })] },
    apply_patch: {
      calls: [
        () =>
          call('apply_patch', { input: ['*** Begin Patch', ...updates.flat(), '*** End Patch'].join('\n') }),
      ],
      isShort: true,
    },
    remember: {
      calls: [() => call('remember', { note })],
      effects: () => linesOf(memory).filter((line) => line.includes(note)),
      isShort: true,
    },
    reads: {
      calls: [
        ({ agent }) => ({
          calls: [
            { name: 'read_file', arguments: { path: 'many/0' } },
            { name: 'list_dir', arguments: { path: '.' } },
            { name: 'grep_files', arguments: { pattern: 'needle' } },
            { name: 'view_image', arguments: { path: 'image.png' } },
            { name: 'handle_read', arguments: { handle: `transcript:${agent.id}`, count: 'lines' } },
          ],
        }),
      ],
      isShort: true,
    },
  };
}

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

function prepare(): string {
  const folder = home.newFolder('struck');
  mkdirSync(join(folder, 'many'));
  for (let i = 0; i < FILES; i++) writeFileSync(join(folder, 'many', String(i)), 'old\n');
  writeFileSync(join(folder, 'a.txt'), 'a needle\n');
  writeFileSync(join(folder, 'image.png'), Buffer.from(PIXEL, 'base64'));
  // What ends without a newline is looked at twice before a note is added: time to be struck in.
  mkdirSync(home.home, { recursive: true });
  writeFileSync(memory, `${existsSync(memory) ? readFileSync(memory, 'utf8').trim() : '- a note'}`);
  mkdirSync(join(home.root, '.cadre'), { recursive: true });
  writeFileSync(join(home.root, 'small.log'), '');
  const args = JSON.stringify([SMALL_SERVER, 'good', join(home.root, 'small.log')]);
  writeFileSync(
    join(home.root, '.cadre/config.toml'),
    `[memory]\nenabled = true\n[mcp_servers.small]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${args}\ntools_approved = ["*"]\n`,
  );
  return folder;
}

async function startWorker(cwd: string): Promise<Running> {
  const worker = home.start(['worker', '--queue', QUEUE, '--tools', SLOW_TOOLS], { cwd, env: model.env });
  await worker.says(/Working for the queue/);
  return worker;
}

async function until(holds: () => boolean, what: string): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(1)) if (holds()) return;
  throw new Error(`not within ${PATIENCE_MS} ms: ${what}`);
}

/** When the worker is killed, counted from when the calls that are short are made. */
const MOMENTS: [string, (folder: string, note: string) => Promise<unknown>][] = [
  [
    'a patch takes its places',
    async (folder) => {
      const first = join(folder, 'many/0');
      await until(() => readFileSync(first, 'utf8') === 'new\n', 'the patch begins');
      await sleep(Math.random() * 20);
    },
  ],
  [
    'a patch is prepared',
    async (folder) => {
      const many = join(folder, 'many');
      await until(() => readdirSync(many).length > FILES, 'the patch begins');
      await sleep(Math.random() * 150);
    },
  ],
  ['a note is taken', (_, note) => until(() => readFileSync(memory, 'utf8').includes(note), 'the note')],
];

test.each(MOMENTS)(
  'a worker is killed while %s: no call with an effect has it twice or untold, and those that read are done again',
  async (_, struckAt) => {
    const folder = prepare();
    const [seconds, note] = [uniqueSeconds(), `note of ${folder}`];
    const parts = partsIn(folder, seconds, note);
    const names = Object.keys(parts);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const ended: Record<string, SeenRequest> = {};
    const waiting = new Set<string>();
    model.play = async (request) => {
      if (request.task === 'go') {
        if (request.answers === 0) {
          return { calls: names.map((name) => ({ name: 'spawn_agent', arguments: { message: name } })) };
        }
        if (request.answers > 1) return { text: 'done' };
        const ids = outputsOf(request).map((output) => JSON.parse(output).agent_id);
        return call('wait', { ids, mode: 'all', timeout_ms: 1_800_000 });
      }
      const part = parts[request.task];
      const next = part?.calls[request.answers];
      if (next === undefined) {
        ended[request.task] = request;
        return { text: 'done' };
      }
      if (part?.isShort === true) {
        waiting.add(request.task);
        await released;
      }
      return next(request);
    };

    const struck = await startWorker(folder);
    const args = ['run', 'go', '--queue', QUEUE, '--json', '-s', 'danger-full-access', ...PLAYED];
    const run = home.start(args, { cwd: folder, env: model.env });
    const long = names.filter((name) => parts[name]?.effects !== undefined && parts[name].isShort !== true);
    await until(
      () =>
        waiting.size === 3 &&
        existsSync(join(folder, 'read.log')) &&
        long.every((name) => parts[name]?.effects?.().length === 1),
      'all calls are under way',
    );
    release();
    await struckAt(folder, note);
    struck.child.kill('SIGKILL');
    await struck.ended;
    expect(await eventually(() => processesWith(seconds).length === 0)).toBe(true);

    const worker = await startWorker(folder);
    const { stdout, stderr } = await run.ended;
    expect(JSON.parse(stdout), stderr).toMatchObject({ status: 'completed', output: 'done' });

    const last = Object.fromEntries(
      names.map((name) => [name, outputsOf(ended[name] as SeenRequest).at(-1) ?? '']),
    );
    for (const name of long) {
      expect(parts[name]?.effects?.(), name).toHaveLength(1);
      expect(JSON.parse(last[name] ?? ''), name).toMatchObject({
        error: { code: 'outcome_unknown', message: expect.stringContaining(name) },
      });
    }
    expect(last.slow_read).toBe('read at last');

    const notes = parts.remember?.effects?.() ?? [];
    if (isUnknown(last.remember)) expect(notes.length).toBeLessThanOrEqual(1);
    else expect(notes).toHaveLength(1);

    const many = filesBelow(join(folder, 'many'));
    const texts = new Set(Object.values(many));
    expect([Object.keys(many).length, texts.size]).toEqual([FILES, 1]);
    if (isUnknown(last.apply_patch)) {
      expect(JSON.parse(last.apply_patch ?? '').error).toMatchObject({
        message: expect.stringContaining('apply_patch (many/0, many/1, '),
        hint: expect.stringContaining('All of the patch is there, or nothing of it'),
      });
    } else expect([...texts]).toEqual(['new\n']);
    const patches = join(home.home, 'patches');
    expect(existsSync(patches) ? readdirSync(patches) : []).toEqual([]);

    const [read, list, grep, image, handle] = outputsOf(ended.reads as SeenRequest);
    expect(read).toMatch(/1.*(old|new)/);
    expect(list).toContain('a.txt');
    expect(grep).toContain('a.txt:1:a needle');
    expect(image).not.toContain('error');
    expect(handle).toMatch(/\d/);

    worker.child.kill('SIGTERM');
    await worker.ended;
  },
);

const isUnknown = (output: string | undefined) => output?.includes('"outcome_unknown"') === true;
