import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { AgentEvent, Approval, Item } from '../../protocol/index.ts';
import { isRunning } from '../support/is-running.ts';
import { type Answer, type ModelServer, startModelServer } from '../support/model-server.ts';
import { freePort } from '../support/ports.ts';
import type { SeenRequest } from '../support/wire-requests.ts';
import { CadreHome, pidsOf, type RunOptions } from './cadre-home.ts';

// Real processes, killed and started again, on a machine that may be busy.
vi.setConfig({ testTimeout: 240_000 });

const home = new CadreHome();
let model: ModelServer;
/** What the models of a test answer, in their order. */
let play: (request: SeenRequest) => Answer | Promise<Answer>;
const processes: ChildProcess[] = [];

beforeAll(async () => {
  model = await startModelServer((request) => play(request), { models: ['small'] });
});
afterAll(async () => {
  for (const child of processes) child.kill('SIGKILL');
  await home.remove();
  await model.close();
});

const require = createRequire(import.meta.url);
const EVERYTHING = join(
  dirname(require.resolve('@modelcontextprotocol/server-everything/package.json')),
  'dist/index.js',
);
const FILES = join(
  dirname(require.resolve('@modelcontextprotocol/server-filesystem/package.json')),
  'dist/index.js',
);

/** The person's own configuration. */
function configure(toml: string): void {
  mkdirSync(join(home.root, '.cadre'), { recursive: true });
  writeFileSync(join(home.root, '.cadre/config.toml'), `model = "small"\n${toml}`);
}
const stdio = (name: string, args: string[], rest = 'tools_approved = ["*"]') =>
  `[mcp_servers.${name}]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify(args)}\n${rest}\n`;

const call = (name: string, args: object): Answer => ({ calls: [{ name, arguments: args }] });
const options = (cwd: string, env: Record<string, string> = {}): RunOptions => ({
  cwd,
  env: { OPENAI_BASE_URL: model.url, ...env },
});
interface Run {
  session_id: string;
  status: string;
  output: string;
}
const inTurn = (answers: Answer[]) => (request: SeenRequest) =>
  answers[request.answers] ?? { text: 'too many' };
const outputsOf = (request: SeenRequest) =>
  request.items.flatMap((item: Item) => (item.type === 'tool_output' ? [item.output] : []));
async function until(holds: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  for (const end = Date.now() + ms; Date.now() < end; ) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('it did not come about');
}

/** A public server by streamable HTTP, once it listens. */
async function startWeb(port: number): Promise<ChildProcess> {
  const env = { ...process.env, PORT: String(port) };
  const child = spawn(process.execPath, [EVERYTHING, 'streamableHttp'], { env, stdio: 'ignore' });
  processes.push(child);
  await until(async () => (await fetch(`http://127.0.0.1:${port}/mcp`).catch(() => undefined)) !== undefined);
  return child;
}

/** Of what Temporal keeps of an agent, in bytes: the schemas of these servers have more. */
async function largestEvent(id: string): Promise<number> {
  const { address } = await home.json<{ address: string }>(['server', 'status']);
  const connection = await Connection.connect({ address });
  try {
    const { events } = await new Client({ connection }).workflow.getHandle(id).fetchHistory();
    const sizes = (events ?? []).map((event) => JSON.stringify(event).length);
    // The first holds what the session was started with.
    return Math.max(...sizes.slice(1));
  } finally {
    await connection.close();
  }
}

test('an agent works with public servers, one process each, and what a repository brings is not started', async () => {
  const folder = home.newFolder('files');
  writeFileSync(join(folder, 'a.txt'), 'in the file');
  mkdirSync(join(folder, '.cadre'));
  writeFileSync(
    join(folder, '.cadre/config.toml'),
    '[mcp_servers.evil]\ncommand = "touch"\nargs = ["evil"]\n',
  );
  configure(
    stdio('files', [FILES, folder]) +
      stdio('all', [EVERYTHING, 'stdio'], 'tools_approved = ["echo", "get-sum"]'),
  );
  play = inTurn([
    {
      calls: [
        { name: 'mcp__files__read_text_file', arguments: { path: join(folder, 'a.txt') } },
        {
          name: 'mcp__files__write_file',
          arguments: { path: join(folder, 'b.txt'), content: 'by the server' },
        },
        { name: 'mcp__all__get-sum', arguments: { a: 2, b: 40 } },
        { name: 'mcp__files__read_text_file', arguments: { path: '/etc/passwd' } },
      ],
    },
    { text: 'done' },
  ]);
  const run = await home.json<Run>(['run', 'go'], options(folder));
  expect(run).toMatchObject({ status: 'completed', output: 'done' });
  const last = model.requests.at(-1) as SeenRequest;
  expect(last.tools).toEqual(expect.arrayContaining(['mcp__files__write_file', 'mcp__all__echo', 'shell']));
  expect(last.tools.filter((name) => name.includes('evil'))).toEqual([]);
  const outputs = outputsOf(last);
  expect(outputs[0]).toContain('in the file');
  expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('by the server');
  expect(outputs[2]).toContain('42');
  expect(outputs[3]).toContain('denied');
  expect(await largestEvent(run.session_id)).toBeLessThan(3_000);
  // Its servers end with the command.
  await until(() => pidsOf(folder).length === 0);
});

test('a worker that is killed in the middle of a call takes its server along, and the agent goes on', async () => {
  const folder = home.newFolder('killed');
  const mark = `--mark=${folder}`;
  configure(stdio('all', [EVERYTHING, 'stdio', mark]));
  const name = 'mcp__all__trigger-long-running-operation';
  play = inTurn([
    call('mcp__all__echo', { message: 'first' }),
    call(name, { duration: 600, steps: 600 }),
    call('mcp__all__echo', { message: 'again' }),
    { text: 'done' },
  ]);
  const running = home.start(['run', 'go', '--jsonl'], options(folder));
  await running.says(/"tool\.begin".*trigger-long-running-operation/);
  const [, id = ''] = /"session_id":"([^"]+)"/.exec(running.stdout()) ?? [];
  expect(pidsOf(mark).length).toBeGreaterThan(0);
  // The worker alone, with no time to do anything: its server has to go by itself.
  const left = [...pidsOf('temporal'), ...pidsOf(mark)];
  home.killAll(home.pids().filter((pid) => !left.includes(pid)));
  await until(() => pidsOf(mark).length === 0);

  await home.run(['attach', id], options(folder));
  const outputs = outputsOf(model.requests.at(-1) as SeenRequest);
  expect(outputs[0]).toContain('first');
  expect(JSON.parse(outputs[1] ?? '')).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(outputs[2]).toContain('again');
});

test('a server that is killed between two calls is started again', async () => {
  const folder = home.newFolder('restart');
  const mark = `--mark=${folder}`;
  configure(stdio('all', [EVERYTHING, 'stdio', mark]));
  const answers = [
    call('mcp__all__echo', { message: 'one' }),
    call('mcp__all__echo', { message: 'two' }),
    { text: 'done' },
  ];
  play = async (request) => {
    if (request.answers === 1) {
      const pids = pidsOf(mark);
      for (const pid of pids) process.kill(pid, 'SIGKILL');
      await until(() => !pids.some(isRunning));
    }
    return answers[request.answers] ?? { text: 'too many' };
  };
  const run = await home.json<Run>(['run', 'go'], options(folder));
  expect(run.status).toBe('completed');
  expect(outputsOf(model.requests.at(-1) as SeenRequest)).toEqual(['Echo: one', 'Echo: two']);
  const { events } = await home.json<{ events: AgentEvent[] }>(['events', run.session_id], options(folder));
  expect(events.filter(({ type }) => type === 'warning')).toEqual([
    expect.objectContaining({
      text: expect.stringContaining('MCP server all: it was lost: it ended with SIGKILL'),
    }),
  ]);
});

test('a call is interrupted with its turn', async () => {
  const folder = home.newFolder('interrupted');
  configure(stdio('all', [EVERYTHING, 'stdio']));
  play = inTurn([
    call('mcp__all__trigger-long-running-operation', { duration: 600, steps: 600 }),
    { text: 'no' },
  ]);
  const running = home.start(['run', 'go', '--jsonl'], options(folder));
  await running.says(/"tool\.begin".*trigger-long-running-operation/);
  const [, id = ''] = /"session_id":"([^"]+)"/.exec(running.stdout()) ?? [];
  await home.run(['interrupt', id], options(folder));
  await running.says(/"type":"turn\.interrupted"/);
  const { events } = await home.json<{ events: AgentEvent[] }>(['events', id], options(folder));
  expect(events.find(({ type }) => type === 'tool.end')).toMatchObject({
    success: false,
    output: expect.stringContaining('interrupted'),
  });
  await home.run(['close', id], options(folder));
  await running.ended;
});

test('a person is asked about a call, once or for the session; with nobody to ask it is refused', async () => {
  const folder = home.newFolder('asked');
  configure(stdio('all', [EVERYTHING, 'stdio'], ''));
  play = inTurn([
    call('mcp__all__echo', { message: 'one' }),
    call('mcp__all__echo', { message: 'two' }),
    { text: 'done' },
  ]);
  const refused = await home.run(['run', 'go', '--non-interactive'], options(folder));
  expect(refused.code).toBe(0);
  expect(outputsOf(model.requests.at(-1) as SeenRequest)[0]).toContain('approval_unavailable');

  const run = home.start(['run', 'go'], { ...options(folder), terminal: true });
  const [, id = ''] = await run.says(/session (a[0-9a-z]{12})/);
  await run.says(/s for the session/);
  const { approvals } = await home.json<{ approvals: Approval[] }>(['approvals', id], options(folder));
  expect(approvals).toMatchObject([
    { kind: 'mcp', tool: 'mcp__all__echo', summary: 'all: echo {"message":"one"}' },
  ]);
  const [open] = approvals;
  const always = await home.run(['approve', open?.approval_id ?? '', '--always'], options(folder));
  expect(always).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('tools_approved of [mcp_servers.NAME]'),
  });
  run.type('s');
  expect((await run.ended).code).toBe(0);
  expect(outputsOf(model.requests.at(-1) as SeenRequest)).toEqual(['Echo: one', 'Echo: two']);
});

test('a server is reached by streamable HTTP, also after it has been started again', async () => {
  const folder = home.newFolder('http');
  const port = await freePort();
  const start = () => startWeb(port);
  let server = await start();
  configure(
    `[mcp_servers.web]\nurl = "http://127.0.0.1:${port}/mcp"\nbearer_token_env_var = "WEB_TOKEN"\ntools_approved = ["*"]\n`,
  );
  const answers = [
    call('mcp__web__echo', { message: 'one' }),
    call('mcp__web__echo', { message: 'two' }),
    { text: 'done' },
  ];
  play = async (request) => {
    if (request.answers === 1) {
      const gone = new Promise((resolve) => server.once('exit', resolve));
      server.kill('SIGKILL');
      await gone;
      server = await start();
    }
    return answers[request.answers] ?? { text: 'too many' };
  };
  const run = await home.json<Run>(['run', 'go'], options(folder, { WEB_TOKEN: 'a-token' }));
  expect(run.status).toBe('completed');
  expect(outputsOf(model.requests.at(-1) as SeenRequest)).toEqual(['Echo: one', 'Echo: two']);
});

test('a server that does not start costs its tools, not the run; people are told why', async () => {
  const folder = home.newFolder('broken');
  configure(stdio('bad', ['-e', 'console.error("no database"); process.exit(4)']));
  play = inTurn([{ text: 'done' }]);
  const ended = await home.run(['run', 'go'], options(folder));
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('done') });
  expect(ended.stderr).toMatch(/MCP server bad: it could not be started.*exit code 4.*no database/);
});

test('on a queue the servers are those of its workers, not what a client has configured', async () => {
  const folder = home.newFolder('queue');
  const theirs = join(folder, 'client.toml');
  writeFileSync(theirs, `model = "small"\n${stdio('theirs', [EVERYTHING, 'stdio'])}`);
  configure(stdio('mine', [EVERYTHING, 'stdio'], 'tools_approved = ["echo"]\ntools_allow = ["e*"]'));
  play = inTurn([call('mcp__mine__echo', { message: 'one' }), { text: 'done' }]);
  const worker = home.start(['worker', '--queue', 'with-servers'], options(folder));
  await worker.says(/Working for the queue/);
  const run = await home.json<Run>(
    ['run', 'go', '--queue', 'with-servers'],
    options(folder, { CADRE_CONFIG: theirs }),
  );
  expect(run.status).toBe('completed');
  const last = model.requests.at(-1) as SeenRequest;
  expect(last.tools.filter((name) => name.startsWith('mcp__'))).toEqual(['mcp__mine__echo']);
  expect(outputsOf(last)).toEqual(['Echo: one']);
  worker.child.kill('SIGTERM');
  await worker.ended;
});

test.each(['responses', 'chat'])('the image of a server is shown to the model (%s)', async (wire) => {
  const folder = home.newFolder(`image-${wire}`);
  configure(
    `model_provider = "local"\n${stdio('all', [EVERYTHING, 'stdio'])}
[model_providers.local]\nbase_url = "${model.url}"\nwire_api = "${wire}"\nmodels = ["small"]\n`,
  );
  play = inTurn([call('mcp__all__get-tiny-image', {}), { text: 'seen' }]);
  const { session_id: id } = await home.json<Run>(['run', 'look'], options(folder));
  const body = JSON.stringify(model.requests.at(-1)?.body);
  expect(body).toMatch(/data:image\/png;base64,iVBORw0KGgoAAAANSUhEUgAAABQAAAAUCAY/);
  expect(body).toMatch(/\[image image\/png, \d+ bytes: shown with this output\]/);
  const { items } = await home.json<{ items: Item[] }>(['items', id], options(folder));
  expect(items).toContainEqual(
    expect.objectContaining({
      type: 'tool_output',
      image: { path: expect.any(String), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    }),
  );
  // The picture itself is not in the conversation.
  expect(JSON.stringify(items)).not.toContain('iVBORw0KGgo');
});

test('a program that a cloned repository brings under the name of a server is not run', async () => {
  const folder = home.newFolder('clone');
  const fake = join(folder, 'node_modules/@modelcontextprotocol/server-filesystem');
  mkdirSync(fake, { recursive: true });
  const about = { name: '@modelcontextprotocol/server-filesystem', version: '1.0.0', bin: './x.js' };
  writeFileSync(join(fake, 'package.json'), JSON.stringify(about));
  const program = `#!/usr/bin/env node\nrequire('fs').writeFileSync(${JSON.stringify(join(folder, 'RAN'))}, '')`;
  writeFileSync(join(fake, 'x.js'), program, { mode: 0o755 });
  mkdirSync(join(folder, 'node_modules/.bin'));
  symlinkSync(
    '../@modelcontextprotocol/server-filesystem/x.js',
    join(folder, 'node_modules/.bin/server-filesystem'),
  );
  writeFileSync(join(folder, 'package.json'), '{"name":"clone","version":"1.0.0"}');
  // Nothing is fetched here: what is looked at is which program would be run.
  const offline = { NPM_CONFIG_OFFLINE: 'true', NPM_CONFIG_CACHE: join(home.root, 'no-cache') };
  configure(
    '[mcp_servers.files]\ncommand = "npx"\nargs = ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]\n',
  );
  play = inTurn([{ text: 'done' }]);
  const ended = await home.run(['run', 'go', '--non-interactive'], options(folder, offline));
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('done') });
  expect(ended.stderr).toContain('MCP server files: it could not be started');
  expect(existsSync(join(folder, 'RAN'))).toBe(false);
});

test('a server that is killed in the middle of a call by streamable HTTP is noticed', async () => {
  const folder = home.newFolder('http-killed');
  const port = await freePort();
  const start = () => startWeb(port);
  const server = await start();
  configure(
    `[mcp_servers.web]\nurl = "http://127.0.0.1:${port}/mcp"\ntimeout_ms = 600_000\ntools_approved = ["*"]\n`,
  );
  play = inTurn([
    call('mcp__web__trigger-long-running-operation', { duration: 600, steps: 600 }),
    call('mcp__web__echo', { message: 'again' }),
    { text: 'done' },
  ]);
  const running = home.start(['run', 'go', '--jsonl'], options(folder));
  await running.says(/"tool\.begin".*trigger-long-running-operation/);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const gone = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGKILL');
  await gone;
  await start();
  expect((await running.ended).code).toBe(0);
  const outputs = outputsOf(model.requests.at(-1) as SeenRequest);
  expect(JSON.parse(outputs[0] ?? '')).toMatchObject({ error: { code: 'outcome_unknown' } });
  expect(outputs[1]).toBe('Echo: again');
});
