import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { StdioTransport } from '../../../activities/mcp/stdio-transport.ts';
import { isAlive } from '../../../activities/sandbox/strays.ts';
import type { Tool } from '../../../activities/tools/define-tool.ts';
import type { CadreError, McpServerSettings } from '../../../protocol/index.ts';
import { isRunning } from '../../support/is-running.ts';
import { eventually } from '../sandbox/processes.ts';
import { contextIn } from '../tools/tool-context.ts';
import { type Served, serve, small } from './servers.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

let folder: string;
let notes: string;
const pools: Served[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-mcp-'));
  notes = join(folder, 'notes');
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map(({ pool }) => pool.close()));
  rmSync(folder, { recursive: true, force: true });
});

function started(servers: Record<string, McpServerSettings>, environment?: Record<string, string>): Served {
  const served = serve(servers, environment);
  pools.push(served);
  return served;
}
const noted = (): string[] => readFileSync(notes, 'utf8').trim().split('\n');
const pids = (): number[] =>
  noted()
    .flatMap((line) => line.match(/^started (\d+)$/)?.[1] ?? [])
    .map(Number);
const run = (tool: Tool, args: unknown = {}, options: Parameters<typeof contextIn>[1] = {}) =>
  tool.run(args, contextIn(folder, options));
const names = async (served: Served) => (await served.offered()).map(({ name }) => name);

test('the tools of a server are offered under its name, with its own schemas, and answer', async () => {
  const served = started({ files: small('good', {}, notes) });
  const echo = await served.tool('mcp__files__echo');
  expect(echo).toMatchObject({
    description: 'Says it again.',
    schema: { type: 'object', properties: { say: { type: 'string' } } },
    effects: 'some',
  });
  expect(await run(echo, { say: 'hello' })).toEqual({ output: 'hello', success: true });
  expect(served.problems()).toEqual([]);
});

test('a worker starts a server once, whoever uses it', async () => {
  const served = started({ files: small('good', {}, notes) });
  await Promise.all([served.offered(), served.offered(), served.offered()]);
  const echo = await served.tool('mcp__files__echo');
  await Promise.all(Array.from({ length: 20 }, (_, i) => run(echo, { say: `${i}` })));
  expect(noted().filter((line) => line.startsWith('started'))).toHaveLength(1);
});

test('of the tools of a server those are offered that the configuration allows and does not deny', async () => {
  const served = started({
    a: small('good', { tools_allow: ['e*', 'sleep'], tools_deny: ['env*'] }),
  });
  expect(await names(served)).toEqual(['mcp__a__echo', 'mcp__a__sleep', 'mcp__a__everything']);
});

test('a tool only reads where the configuration says so, whatever the server claims', async () => {
  const served = started({ a: small('good', { tools_read_only: ['echo'] }) });
  expect((await served.tool('mcp__a__echo')).effects).toBe('none');
  expect((await served.tool('mcp__a__sleep')).effects).toBe('some');
});

test.each([
  ['silent', /it did not answer within 5000 ms/],
  ['rubbish', /what is no message of MCP .*Welcome to my server!/],
  ['noisy-death', /exit code 3; its error output ends: cannot start with \(hidden\)/],
  ['flood', /it flooded: more than/],
  ['endless-line', /it flooded/],
] as const)('a server that is %s offers nothing, says why once, and keeps nobody', async (mode, why) => {
  const isWaitedFor = mode === 'silent' || mode === 'rubbish';
  const settings = { env_vars: ['SMALL_TOKEN'], ...(isWaitedFor ? { start_timeout_ms: 5_000 } : {}) };
  const served = started(
    { bad: small(mode, settings, notes), good: small('good') },
    { SMALL_TOKEN: 'abc-very-secret' },
  );
  const offered = await names(served);
  expect(offered).toContain('mcp__good__echo');
  expect(offered.filter((name) => name.startsWith('mcp__bad'))).toEqual([]);
  const problems = served.problems();
  expect(problems).toEqual([expect.stringMatching(/^MCP server bad: it could not be started/)]);
  expect(problems[0]).toMatch(why);
  expect(served.problems()).toEqual([]);
});

test('a command that does not exist is named', async () => {
  const served = started({
    bad: { command: 'no-such-program' },
    lost: small('good', { cwd: '/no/such/folder' }),
  });
  expect(await served.offered()).toEqual([]);
  expect(served.problems().join('\n')).toMatch(/bad.*no-such-program(.|\n)*lost.*\/no\/such\/folder/);
});

test.skipIf(process.platform !== 'linux')(
  'of a program that has ended before it was first written to, it is told how, and not what became of the pipe',
  async () => {
    const gone = {
      command: 'no-such-program',
      args: [],
      environment: { PATH: '/usr/bin:/bin' },
      secrets: [],
    };
    const transport = new StdioTransport({ ...gone, cwd: folder });
    await transport.start();
    // In one go, so that nothing is heard of its end before.
    while (!/\) Z /.test(readFileSync(`/proc/${transport.pid}/stat`, 'utf8'))) {}
    await expect(transport.send({ jsonrpc: '2.0', method: 'notifications/any' })).rejects.toThrow(
      'it ended with exit code 127',
    );
    await transport.close();
  },
);

test('a tool whose schema is wrong is left out, and only that', async () => {
  const served = started({ odd: small('wrong-schema') });
  expect(await names(served)).toHaveLength(13);
  const [problem] = served.problems();
  expect(problem).toContain('1 that have no name');
  for (const name of ['list', 'typo', 'text', 'bare']) expect(problem).toContain(`"${name}" (the schema`);
});

test('of a server with more tools than are read it is told that the rest is left out', async () => {
  const served = started({ a: small('too-many') });
  expect(await names(served)).toHaveLength(2_000);
  expect(served.problems()).toEqual([expect.stringContaining('all after the first 2000 are left out')]);
});

test('a refusal says what a person would have to set, and nothing that is set already', async () => {
  const served = started({ a: small('good', { tools_approved: ['echo'] }) });
  const hintOf = (tool: Tool, settings: object): Promise<string> =>
    run(tool, {}, { settings }).then(String, ({ hint }: CadreError) => hint ?? '');
  const echo = await served.tool('mcp__a__echo');
  const sleep = await served.tool('mcp__a__sleep');
  const untrusted = await hintOf(echo, { approval_policy: 'untrusted' });
  expect(untrusted).toContain('another approval policy');
  expect(untrusted).not.toContain('tools_approved');
  const reading = await hintOf(echo, { sandbox_mode: 'read-only' });
  expect(reading).toContain('[mcp_servers.a] tools_read_only = ["echo"]');
  expect(reading).not.toContain('tools_approved');
  expect(await hintOf(sleep, { sandbox_mode: 'read-only' })).toContain(
    '[mcp_servers.a] tools_approved = ["sleep"] and tools_read_only = ["sleep"]',
  );
  expect(await hintOf(sleep, {})).toContain('[mcp_servers.a] tools_approved = ["sleep"].');
});

test('calls that are answered in between are no row of failures', async () => {
  const served = started({ a: small('good', {}, notes) });
  for (let i = 0; i < 4; i++) {
    await expect(run(await served.tool('mcp__a__die'))).rejects.toMatchObject({
      hint: 'Look at what is there before you try again. The next call starts the server again.',
    });
    expect(await run(await served.tool('mcp__a__echo'), { say: 'x' })).toMatchObject({ output: 'x' });
  }
});

test('a server that dies in a call leaves its outcome unknown, and the next call starts it again', async () => {
  const served = started({ a: small('good', {}, notes) });
  await expect(run(await served.tool('mcp__a__die'))).rejects.toMatchObject({
    code: 'outcome_unknown',
    message: expect.stringContaining('exit code 7'),
  });
  const echo = await served.tool('mcp__a__echo');
  expect(await run(echo, { say: 'back' })).toMatchObject({ output: 'back' });
  expect(noted().filter((line) => line === 'call die')).toHaveLength(1);
});

test('that a server was lost is told until it answers calls again', async () => {
  const served = started({ a: small('good') });
  await expect(run(await served.tool('mcp__a__die'))).rejects.toMatchObject({ code: 'outcome_unknown' });
  await served.offered();
  expect(served.problems()).toEqual([expect.stringMatching(/^MCP server a: it was lost: .*exit code 7/)]);
  await run(await served.tool('mcp__a__echo'), { say: 'x' });
  expect(served.pool.untold('b0k3v9x2m4qd7' as never, served.session, [])).toEqual([]);
});

test('a server that floods in a call is ended, and people are told', async () => {
  const served = started({ a: small('good') });
  await expect(run(await served.tool('mcp__a__flood'))).rejects.toMatchObject({
    code: 'outcome_unknown',
    message: expect.stringContaining('it flooded: more than 20000 messages within 10 s'),
  });
  await served.offered();
  expect(served.problems()).toEqual([expect.stringMatching(/^MCP server a: it was lost: it flooded/)]);
});

test('a server that answers and ends at once has answered; one that closes its output is lost', async () => {
  const served = started({ a: small('good') });
  expect(await run(await served.tool('mcp__a__last-words'))).toMatchObject({ output: 'last words' });
  const again = started({ a: small('good') });
  await expect(run(await again.tool('mcp__a__hang-up'))).rejects.toMatchObject({
    code: 'outcome_unknown',
    message: expect.stringContaining('it closed its output'),
  });
});

test('an answer that is no message ends the wait at once, and the connection stays', async () => {
  const served = started({ a: small('careless', {}, notes) });
  await expect(run(await served.tool('mcp__a__misspeak'))).rejects.toMatchObject({
    code: 'outcome_unknown',
    message: expect.stringMatching(/the answer of the MCP server a was lost: .*what is no message of MCP/),
  });
  expect(await run(await served.tool('mcp__a__echo'), { say: 'there' })).toMatchObject({ output: 'there' });
  expect(noted().filter((line) => line.startsWith('started'))).toHaveLength(1);
});

test('of an answer all is told that can be read, and null stands for what is not there', async () => {
  const served = started({ a: small('careless') });
  expect(await run(await served.tool('mcp__a__careless'))).toEqual({
    output: 'done\n[unreadable part: not shown]\n[unreadable part: not shown]',
    success: true,
  });
});

test('a call that only reads is made once more when its server dies', async () => {
  const served = started({ a: small('good', { tools_read_only: ['die'] }, notes) });
  await expect(run(await served.tool('mcp__a__die'))).rejects.toMatchObject({ code: 'tool_failed' });
  expect(noted().filter((line) => line === 'call die')).toHaveLength(2);
});

test('a server that dies again and again is left alone for longer and longer', async () => {
  const served = started({ a: small('good', {}, notes) });
  const die = await served.tool('mcp__a__die');
  const errors: string[] = [];
  for (let i = 0; i < 4; i++) errors.push(await run(die).then(String, (error: Error) => error.message));
  expect(errors[0]).toContain('It is unknown whether');
  expect(errors.at(-1)).toMatch(
    /Nothing was called.*has failed \d times in a row, and is tried again in \d+ s/,
  );
});

test('a call that is interrupted ends at once, and its server is told', async () => {
  const served = started({ a: small('good', {}, notes) });
  const sleep = await served.tool('mcp__a__sleep');
  const stop = new AbortController();
  const begun = Date.now();
  const running = run(sleep, { ms: 100_000 }, { signal: stop.signal });
  await eventually(() => noted().includes('call sleep'));
  stop.abort(new Error('interrupted'));
  await expect(running).rejects.toThrow('interrupted');
  expect(Date.now() - begun).toBeLessThan(60_000);
  await eventually(() => noted().includes('cancelled'));
  expect(noted()).toContain('cancelled');
});

test('a call that takes longer than timeout_ms is given up', async () => {
  const served = started({ a: small('good', { timeout_ms: 2_000 }, notes) });
  await expect(run(await served.tool('mcp__a__sleep'), { ms: 100_000 })).rejects.toMatchObject({
    code: 'timeout',
    message: expect.stringMatching(/longer than 2000 ms; the server was told to stop it/),
  });
});

test('a server that hangs is ended with what it has started, and the next call starts it again', async () => {
  const served = started({ a: small('good', { timeout_ms: 3_000 }, notes) });
  const hang = await served.tool('mcp__a__hang');
  const error = await run(hang).catch((thrown: CadreError) => thrown);
  expect(error).toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('not even a ping within 5 s'),
    hint: expect.stringContaining('The next call starts the server again'),
  });
  expect(await run(await served.tool('mcp__a__echo'), { say: 'back' })).toMatchObject({ output: 'back' });
  const [first = 0, second = 0] = pids();
  expect([await isAlive(first), await isAlive(second)]).toEqual([false, true]);
});

test('so is one that hangs in a call that is interrupted', async () => {
  const served = started({ a: small('good', {}, notes) });
  const stop = new AbortController();
  const running = run(await served.tool('mcp__a__hang'), {}, { signal: stop.signal });
  await eventually(() => noted().includes('call hang'));
  stop.abort(new Error('interrupted'));
  await expect(running).rejects.toThrow('interrupted');
  expect(await run(await served.tool('mcp__a__echo'), { say: 'back' })).toMatchObject({ output: 'back' });
  expect(pids()).toHaveLength(2);
});

test('calls of others go on: on a server that answers pings, and on one that is at work on them', async () => {
  const served = started({ a: small('good', {}, notes) });
  const sleeping = run(await served.tool('mcp__a__sleep'), { ms: 12_000 });
  const stop = new AbortController();
  const stopped = run(await served.tool('mcp__a__sleep'), { ms: 100_000 }, { signal: stop.signal });
  await eventually(() => noted().filter((line) => line === 'call sleep').length === 2);
  stop.abort(new Error('interrupted'));
  await expect(stopped).rejects.toThrow('interrupted');
  expect(await sleeping).toMatchObject({ output: 'slept' });

  const working = run(await served.tool('mcp__a__work'), { ms: 12_000 });
  await eventually(() => noted().includes('call work'));
  const again = new AbortController();
  const waiting = run(await served.tool('mcp__a__echo'), { say: 'x' }, { signal: again.signal });
  again.abort(new Error('interrupted'));
  await expect(waiting).rejects.toThrow('interrupted');
  expect(await working).toMatchObject({ output: 'worked' });
  expect(pids()).toHaveLength(1);
});

test('a call that cannot have reached its server is made on a new one, whatever it does', async () => {
  const served = started({ a: small('good', {}, notes) });
  const echo = await served.tool('mcp__a__echo');
  for (let i = 0; i < 3; i++) {
    const [pid = 0] = pids().slice(-1);
    process.kill(pid, 'SIGKILL');
    await eventually(() => !isRunning(pid));
    expect(await run(echo, { say: 'x' })).toMatchObject({ output: 'x' });
  }
  expect(pids()).toHaveLength(4);
});

test('tools that a server has got meanwhile are offered', async () => {
  const served = started({ a: small('good') });
  await run(await served.tool('mcp__a__grow'));
  for (const end = Date.now() + 30_000; Date.now() < end; ) {
    if ((await names(served)).includes('mcp__a__grown')) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(await names(served)).toContain('mcp__a__grown');
  expect(served.problems()).toEqual([]);
});

test('a server that says again and again that its tools have changed, and lists them no more, holds nobody up', async () => {
  const served = started({ a: small('ever-changing', { start_timeout_ms: 10_000 }) });
  await served.offered();
  const problems: string[] = [];
  for (const end = Date.now() + 60_000; problems.length === 0 && Date.now() < end; ) {
    const begun = Date.now();
    expect(await names(served)).toHaveLength(13);
    expect(Date.now() - begun).toBeLessThan(5_000);
    problems.push(...served.problems());
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  expect(problems).toEqual([
    expect.stringMatching(/the old ones are offered: it did not answer within 10000 ms/),
  ]);
});

test('what a server refuses is told in its words', async () => {
  const served = started({ a: small('good') });
  await expect(run(await served.tool('mcp__a__refuse'))).rejects.toMatchObject({
    code: 'tool_failed',
    message: expect.stringMatching(/refused refuse: .*say is missing \(-32602\)/),
  });
});

test('a server gets what commands get, its own variables and the keys that it is given, and runs where it should', async () => {
  const served = started(
    { a: small('good', { env: { OWN: 'yes' }, env_vars: ['A_TOKEN', 'NOT_SET'], cwd: folder }) },
    { A_TOKEN: 'for-it', OTHER_TOKEN: 'not-for-it', PLAIN: 'p' },
  );
  const { output } = (await run(await served.tool('mcp__a__environment'))) as { output: string };
  const [environment = '', structured = ''] = output.split('\n');
  expect(JSON.parse(environment)).toMatchObject({ OWN: 'yes', A_TOKEN: 'for-it', PLAIN: 'p' });
  expect(JSON.parse(environment)).not.toHaveProperty('OTHER_TOKEN');
  expect(JSON.parse(structured).cwd).toContain(folder.split('/').at(-1));
});

test('a server that is not told where runs at home, and finds programs in no folder that a repository fills', async () => {
  const path = `/work/node_modules/.bin:.:bin::${process.env.PATH}`;
  const served = started({ a: small('good') }, { PATH: path });
  const { output } = (await run(await served.tool('mcp__a__environment'))) as { output: string };
  const [environment = '', structured = ''] = output.split('\n');
  expect(JSON.parse(structured).cwd).toBe(realpathSync(homedir()));
  const folders: string[] = JSON.parse(environment).PATH.split(':');
  expect(folders).toContain('/usr/bin');
  expect(folders.filter((one) => !one.startsWith('/') || one.includes('node_modules'))).toEqual([]);
});

test('an answer of many kinds is text, with the rest named', async () => {
  const served = started({ a: small('good') });
  expect(await run(await served.tool('mcp__a__everything'))).toEqual({
    success: false,
    output: [
      'some text',
      '[image image/png, 3 bytes: not shown: it is not a PNG, JPEG, GIF or WebP image]',
      '[resource memo://a text/plain]',
      'in it',
      '[resource memo://b, 6 bytes: not shown]',
      '[resource memo://c c]',
      '[of-tomorrow: not shown]',
      '{"a":1}',
    ].join('\n'),
  });
});

test('the worker takes its servers along when it stops', async () => {
  const served = started({ a: small('good', {}, notes) });
  await served.offered();
  const pid = Number(noted()[0]?.split(' ')[1]);
  expect(await isAlive(pid)).toBe(true);
  await served.pool.close();
  expect(await isAlive(pid)).toBe(false);
});

test('a worker that stops does not wait for a server that does not answer', async () => {
  const served = started({ a: small('silent', { start_timeout_ms: 1_000_000 }, notes) });
  const offered = served.offered();
  await eventually(() => existsSync(notes));
  const pid = Number(noted()[0]?.split(' ')[1]);
  await served.pool.close();
  expect(await offered).toEqual([]);
  expect(await isAlive(pid)).toBe(false);
});

test('a call asks, unless the configuration allows the tool; under untrusted each does', async () => {
  const served = started({ a: small('good', { tools_approved: ['echo'] }) });
  const need = { need: { kind: 'mcp', summary: 'a: sleep {"ms":1}' } };
  await expect(run(await served.tool('mcp__a__sleep'), { ms: 1 })).rejects.toMatchObject(need);
  const echo = await served.tool('mcp__a__echo');
  expect(await run(echo, { say: 'x' })).toMatchObject({ success: true });
  const untrusted = { settings: { approval_policy: 'untrusted' as const } };
  await expect(run(echo, { say: 'x' }, untrusted)).rejects.toMatchObject({ need: { kind: 'mcp' } });
  expect(await run(echo, { say: 'x' }, { ...untrusted, approved: true })).toMatchObject({ success: true });
  // Where the sandbox lets nothing be changed, so does each that may change something.
  const settings = { sandbox_mode: 'read-only' as const };
  await expect(run(echo, { say: 'x' }, { settings })).rejects.toMatchObject({ need: { kind: 'mcp' } });
  const reading = started({ a: small('good', { tools_read_only: ['echo'] }) });
  expect(await run(await reading.tool('mcp__a__echo'), { say: 'x' }, { settings })).toMatchObject({
    success: true,
  });
});

function later(settings: McpServerSettings = {}): McpServerSettings {
  const args = ['--no-warnings', join(import.meta.dirname, 'new-server.ts')];
  return { command: process.execPath, args, tools_approved: ['*'], ...settings };
}

test('a server that speaks nothing but the later revision of the protocol is greeted anew, in that', async () => {
  const served = started({ a: later() });
  expect(await run(await served.tool('mcp__a__echo'), { say: 'hello' })).toEqual({
    output: 'hello',
    success: true,
  });
  expect(served.problems()).toEqual([]);
});

test('it goes on after a call of it that took too long, and after one that is interrupted', async () => {
  const served = started({ a: later({ timeout_ms: 5_000 }) });
  const sleep = await served.tool('mcp__a__sleep');
  await expect(run(sleep, { ms: 100_000 })).rejects.toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('longer than 5000 ms; the server was told to stop it'),
  });
  const stop = new AbortController();
  const running = run(sleep, { ms: 100_000 }, { signal: stop.signal });
  stop.abort(new Error('interrupted'));
  await expect(running).rejects.toThrow('interrupted');
  expect(await run(await served.tool('mcp__a__echo'), { say: 'x' })).toMatchObject({ output: 'x' });
  expect(served.problems()).toEqual([]);
});

test('where it hangs it is ended and started again', async () => {
  const served = started({ a: later({ timeout_ms: 5_000 }) });
  await expect(run(await served.tool('mcp__a__hang'))).rejects.toMatchObject({
    code: 'timeout',
    message: expect.stringContaining('not even a list of its tools within 5 s'),
  });
  expect(await run(await served.tool('mcp__a__echo'), { say: 'back' })).toMatchObject({ output: 'back' });
});
