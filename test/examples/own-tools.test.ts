import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { CadreHome } from '../e2e/cadre-home.ts';
import { folderWith } from '../support/folders.ts';

vi.setConfig({ testTimeout: 300_000 });

const FOLDER = fileURLToPath(new URL('../../examples/own-tools', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TOOLS = join(FOLDER, 'own-tools.ts');
const MODEL = [
  '-c',
  'model_provider=script',
  '-c',
  `model_providers.script.script=${join(FOLDER, 'play.yaml')}`,
];

const home = new CadreHome();
afterAll(() => home.remove());

interface Pending {
  approvals: { approval_id: string; summary: string }[];
}

/** Somebody at a terminal starts it, and somebody else allows what it asks for. */
async function approvedRun(queue: string, folder: string): Promise<string> {
  const run = home.start(['run', 'close the ticket', '--queue', queue, '-C', folder, ...MODEL], {
    terminal: true,
  });
  const [, id = ''] = await run.says(/session (a\w{12})/);
  let pending: Pending = { approvals: [] };
  for (let tries = 0; pending.approvals.length === 0 && tries < 60; tries++) {
    await sleep(500);
    pending = await home.json<Pending>(['approvals', id]);
  }
  expect(pending.approvals).toMatchObject([{ summary: 'close T-1: It works again.' }]);
  expect((await home.run(['approve', pending.approvals[0]?.approval_id ?? ''])).code).toBe(0);
  expect((await run.ended).code).toBe(0);
  const { message } = await home.json<{ message: string }>(['status', id]);
  return message;
}

test('the tools of the example are called by an agent, one of them once a person has allowed it', async () => {
  const folder = home.newFolder('desk');
  cpSync(join(FOLDER, 'tickets.json'), join(folder, 'tickets.json'));
  const worker = home.start(['worker', '--queue', 'tickets', '--tools', TOOLS]);
  await worker.says(/Tools of your own: (close_ticket, find_tickets|find_tickets, close_ticket)\./);
  const message = await approvedRun('tickets', folder);
  expect(message).toBe('found T-1 open Cannot log in since Monday; then T-1 is closed.');
  expect(readFileSync(join(folder, 'closed.log'), 'utf8')).toBe('T-1 It works again.\n');
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
});

test('the same in a program of ones own, with createWorker', async () => {
  const folder = home.newFolder('desk');
  cpSync(join(FOLDER, 'tickets.json'), join(folder, 'tickets.json'));
  const program = home.start([], { main: join(FOLDER, 'own-worker.ts') });
  await program.says(/working for the queue desk/);
  expect(await approvedRun('desk', folder)).toContain('T-1 is closed.');
  program.child.kill('SIGTERM');
  expect((await program.ended).code).toBe(0);
});

/** A module that cannot be used, and what is said of it. */
const WRONG: [string, string, RegExp][] = [
  ['missing.ts', '', /there is no such file/],
  ['syntax.ts', 'export const = 1', /cannot be loaded: /],
  ['throws.ts', 'throw new Error("no database")', /cannot be loaded: no database/],
  [
    'never.ts',
    'await new Promise(() => {})',
    /cannot be loaded: its top level awaits something that never comes/,
  ],
  ['none.ts', 'export const answer = 42', /exports no tools/],
  ['import.ts', 'import "./helper"', /cannot be loaded: Cannot find module .*\n.*with its ending/],
  ['enum.ts', 'enum E { a }', /cannot be loaded: .*\n.*no enum/],
  ['twice.ts', 'export default [tool({}), tool({})]', /"t": there are two of the name t/],
  ['named.ts', 'export const a = tool({ name: "no name!" })', /"no name!": its name .* letters, digits/],
  ['model.ts', 'export const a = tool({ name: "model" })', /the name model is taken by Cadre itself/],
  ['spawn.ts', 'export const a = tool({ name: "spawn_agent" })', /the name spawn_agent is taken/],
  [
    'alias.ts',
    'export const a = tool({ aliases: ["shell"] })',
    /its other name shell is that of a tool of Cadre/,
  ],
  ['list.ts', 'export default [tool({}), undefined]', /number 2: it is no tool \(undefined\)/],
  [
    'spec.ts',
    'export const a = { name: "t", parameters: z.object({}), run() {} }',
    /did not go through defineTool/,
  ],
  [
    'string.ts',
    'export const a = tool({ parameters: z.string() })',
    /parameters has to be an object, and is string/,
  ],
  [
    'union.ts',
    'export const a = tool({ parameters: z.union([z.object({}), z.object({ a: z.string() })]) })',
    /and is a choice/,
  ],
  [
    'date.ts',
    'export const a = tool({ parameters: z.object({ at: z.date() }) })',
    /cannot be told to a model as JSON schema: Date/,
  ],
  ['plain.ts', 'export const a = tool({ parameters: { type: "object" } })', /a schema of zod 4/],
  ['effects.ts', 'export const a = tool({ effects: "many" })', /effects has to be "none"/],
  ['description.ts', 'export const a = tool({ description: " " })', /it needs a description/],
  ['lost.ts', 'export const a = tool({ ifLost: 7 })', /ifLost has to be a text/],
  ['aliases.ts', 'export const a = tool({ aliases: 7 })', /aliases has to be a list of names/],
  ['timeout.ts', 'export const a = tool({ timeoutMs: 5_000 })', /timeoutMs has to be a function/],
  ['summary.ts', 'export const a = tool({ summary: "a" })', /summary has to be a function/],
  ['search.ts', 'export const a = tool({ name: "web_search" })', /web_search is the own search of providers/],
  ['run.ts', 'export const a = tool({ run: "yes" })', /run has to be a function/],
];
const HEAD = `import { defineTool } from 'cadre/tools';
import { z } from 'zod';
const tool = (more: object) => defineTool({ name: 't', description: 'd', effects: 'none', parameters: z.object({}), run: async () => '', ...more } as never);
`;

test('each module that cannot be used is refused with its name and the reason, before the worker starts', async () => {
  const files = Object.fromEntries(
    WRONG.filter(([, text]) => text !== '').map(([name, text]) => [name, `${HEAD}${text}\n`]),
  );
  const folder = folderWith(files);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'cadre'));
  symlinkSync(join(ROOT, 'node_modules', 'zod'), join(folder, 'node_modules', 'zod'));
  for (const [name, , reason] of WRONG) {
    const { code, stderr } = await home.run(['worker', '--queue', 'q', '--tools', name], { cwd: folder });
    expect(stderr, name).toMatch(reason);
    expect(stderr, name).toContain(`--tools ${name}`);
    expect(stderr, name).not.toMatch(/^\s+at /m);
    expect(code, name).toBe(2);
  }
});

test('a module that does not find Cadre is told where it is to be had', async () => {
  const folder = folderWith({ 'lonely.ts': HEAD });
  const { code, stderr } = await home.run(['worker', '--queue', 'q', '--tools', 'lonely.ts'], {
    cwd: folder,
  });
  expect(stderr).toMatch(/Cannot find package 'cadre'.*\n.*npm install \/PATH\/TO\/cadre zod/);
  expect(code).toBe(2);
});

test('tools without a queue are refused: local sessions have none', async () => {
  const { code, stderr } = await home.run(['worker', '--tools', TOOLS]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/--tools belongs to a worker with --queue.*\n.*cadre run --queue NAME/);
});

const UNRULY = `${HEAD}const later = (left: () => unknown) => setTimeout(left, 200);
export const junk = tool({ name: 'junk', run: async () => ({ output: 'given', success: true, command_session: 'junk', plan: 7, image: { path: 1 } }) });
export const check = tool({ name: 'check', parameters: z.strictObject({}).refine(() => { throw new Error('in refine') }) });
export const leave = tool({ name: 'leave', run: async () => {
  Promise.reject(new Error('not awaited'));
  later(() => { throw new Error('in a timer') });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  return 'left';
} });
`;
const PLAY = `agents:
  - steps:
      - calls: [{ tool: junk }, { tool: check }, { tool: leave }]
      - text: '{{ outputs.junk }}; {{ outputs.check.error.message }}; {{ outputs.leave }}'
`;

test('whatever a tool does, its agent goes on, and so does the worker of all agents', async () => {
  const folder = folderWith({ 'unruly.ts': UNRULY, 'play.yaml': PLAY });
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'cadre'));
  symlinkSync(join(ROOT, 'node_modules', 'zod'), join(folder, 'node_modules', 'zod'));
  const worker = home.start(['worker', '--queue', 'unruly', '--tools', join(folder, 'unruly.ts')]);
  await worker.says(/Tools of your own: /);
  const play = `model_providers.script.script=${join(folder, 'play.yaml')}`;
  for (const task of ['once', 'and once more']) {
    const flags = ['--queue', 'unruly', '-C', folder, '-c', 'model_provider=script', '-c', play];
    const { code, stdout } = await home.run(['run', task, ...flags]);
    expect(stdout).toContain('given; The check of the arguments of check failed: in refine; left');
    expect(code).toBe(0);
  }
  await worker.says(/leave has left an error behind that nobody caught: not awaited/);
  await worker.says(/leave has left an error behind that nobody caught: in a timer/);
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
});
