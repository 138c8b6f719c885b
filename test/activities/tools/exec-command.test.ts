import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CommandSessions } from '../../../activities/commands/command-sessions.ts';
import { StdioTransport } from '../../../activities/mcp/stdio-transport.ts';
import { detectSandbox, type SandboxState } from '../../../activities/sandbox/detect-sandbox.ts';
import { watchdog } from '../../../activities/sandbox/watchdog.ts';
import { ApprovalNeeded } from '../../../activities/tools/approval-needed.ts';
import type { ToolResult } from '../../../activities/tools/define-tool.ts';
import { createExecCommand, execCommand } from '../../../activities/tools/exec-command.ts';
import { writeStdin } from '../../../activities/tools/write-stdin.ts';
import type { AgentSettings } from '../../../protocol/index.ts';
import { eventually, processesWith, uniqueSeconds } from '../sandbox/processes.ts';
import { contextIn } from './tool-context.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const state = await detectSandbox();
const free: Partial<AgentSettings> = { sandbox_mode: 'danger-full-access' };
const none: SandboxState = { works: false, reason: 'no bubblewrap', hint: 'Install it.' };

let folder: string;
let commands: CommandSessions;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-exec-'));
  commands = new CommandSessions({ perAgent: 2, all: 3 });
});
afterEach(async () => {
  await commands.close();
  rmSync(folder, { recursive: true, force: true });
});

type Options = Parameters<typeof contextIn>[1];

async function exec(args: object, options: Options = {}, tool = execCommand): Promise<ToolResult> {
  const context = contextIn(folder, { settings: free, commands, ...options });
  return (await tool.run(tool.parameters.parse(args), context)) as ToolResult;
}

async function write(args: object, options: Options = {}): Promise<ToolResult> {
  return exec(args, options, writeStdin);
}

/** Looks again until the output holds the text; what came by then. */
async function until(id: number, text: string, chars = ''): Promise<string> {
  let seen = (await write({ session_id: id, chars, yield_time_ms: 100 })).output;
  for (let round = 0; round < 100 && !seen.includes(text); round++) {
    seen += (await write({ session_id: id, yield_time_ms: 200 })).output;
  }
  expect(seen).toContain(text);
  return seen;
}

async function begin(cmd: string, more: object = {}, options: Options = {}): Promise<number> {
  const { command_session: session, output } = await exec({ cmd, yield_time_ms: 300, ...more }, options);
  expect(session?.open, output).toBe(true);
  expect(output).toMatch(/^still running, session_id \d+, \d+\.\d s\n/);
  return session?.id as number;
}

test('a command that ends in time is answered as by shell: exit code, signal, a program that is not there', async () => {
  expect(await exec({ cmd: 'echo a; echo b >&2; exit 3' })).toMatchObject({
    success: false,
    output: expect.stringMatching(/^exit code 3, \d+\.\d s\na\nb\n$/),
    command_session: { open: false },
  });
  expect((await exec({ cmd: 'kill -KILL $$' })).output).toMatch(/^exit code 137 \(SIGKILL\)/);
  expect((await exec({ cmd: 'no-such-command' })).output).toMatch(/^exit code 127.*\n.*not found/);
  expect((await exec({ cmd: 'no-such-command', tty: true })).output).toMatch(/^exit code 127.*\n.*not found/);
  expect((await exec({ cmd: 'pwd', workdir: '/' })).output).toMatch(/\n\/\n$/);
  await expect(exec({ cmd: 'pwd', workdir: 'missing' })).rejects.toMatchObject({ code: 'invalid_arguments' });
});

test.each([
  { cmd: '' },
  { cmd: 'a\0b' },
  { cmd: 'true', yield_time_ms: -1 },
  { cmd: 'true', yield_time_ms: 600_001 },
  { cmd: 'true', max_output_tokens: 0 },
  { cmd: 'true', other: 1 },
])('arguments that follow no schema are refused: %j', (args) => {
  expect(execCommand.parameters.safeParse(args).success).toBe(false);
});

test('one that takes longer goes on as a session, and its end is told by the one who looks', async () => {
  const id = await begin('echo one; sleep 2; echo two; exit 5');
  const { output, success, command_session } = await write({ session_id: id, yield_time_ms: 30_000 });
  expect(output).toMatch(/^exit code 5, \d+\.\d s\ntwo\n$/);
  expect({ success, command_session }).toEqual({ success: false, command_session: { id, open: false } });
  const again = await write({ session_id: id });
  expect(again).toMatchObject({ success: false, command_session: { id, open: false } });
  expect(again.output).toContain('it has ended, and its output was returned');
});

test('on a terminal, a program is talked to, and stopped by Ctrl-C and Ctrl-D', async () => {
  const id = await begin(`PS1='ready> ' sh -i`, { tty: true });
  expect(await until(id, 'x42x\n', 'echo x$((6*7))x\n')).not.toContain('\r\n');
  await until(id, 'started', 'echo star""ted; sleep 600\n');
  await until(id, 'ready> ', '\u0003');
  await until(id, 'code 130', 'echo code $?\n');
  const { output } = await write({ session_id: id, chars: '\u0004', yield_time_ms: 30_000 });
  expect(output).toMatch(/^exit code/);
});

test.runIf(state.works)(
  'a terminal in the sandbox controls its program, too, and writes only where it may',
  async () => {
    const settings = { sandbox_mode: 'read-only' as const };
    const id = await begin('bash --norc -i', { tty: true }, { settings });
    await until(id, 'Read-only file system', 'echo x > file\n');
    const long = uniqueSeconds();
    await write({ session_id: id, chars: `sleep ${long}\n` });
    // Before it is that, the shell that starts it may still have the terminal.
    expect(await eventually(() => processesWith(`sleep\0${long}`).length === 1)).toBe(true);
    await until(id, 'code 130', '\u0003echo code $?\n');
    expect(commands.agents).toHaveLength(1);
    const seconds = uniqueSeconds();
    await write({ session_id: id, chars: `sleep ${seconds} &\n` });
    expect(await eventually(() => processesWith(`sleep\0${seconds}`).length === 1)).toBe(true);
    await commands.close();
    expect(processesWith(seconds)).toEqual([]);
  },
);

test.runIf(state.works)(
  'what Ctrl-C means is for a program on a terminal to say in the sandbox, too, and Ctrl-Z leaves nothing standing still',
  async () => {
    const settings = { sandbox_mode: 'workspace-write' as const };
    const waiting = `trap 'echo caught' INT; sleep 2; echo ready; while :; do sleep 0.1; done`;
    const id = await begin(waiting, { tty: true }, { settings });
    await until(id, 'ready');
    await until(id, 'caught', '\u0003');
    await until(id, 'caught', '\u001a\u0003');
    const ended = await exec({ cmd: 'exit 7', tty: true, yield_time_ms: 30_000 }, { settings });
    expect(ended.output).toMatch(/^exit code 7,/);
    const killed = await exec({ cmd: 'kill -9 $$', tty: true, yield_time_ms: 30_000 }, { settings });
    expect(killed.output).toMatch(/^exit code 137 /);
  },
);

test('without a terminal there is no input, and Ctrl-C is a signal', async () => {
  expect((await exec({ cmd: 'cat' })).output).toMatch(/^exit code 0/);
  const id = await begin(`trap 'echo caught; exit 7' INT; while :; do sleep 0.1; done`);
  await expect(write({ session_id: id, chars: 'text\n' })).rejects.toMatchObject({
    code: 'invalid_arguments',
    hint: expect.stringContaining('tty: true'),
  });
  const { output } = await write({ session_id: id, chars: '\u0003', yield_time_ms: 30_000 });
  expect(output).toMatch(/^exit code 7, .*\ncaught\n$/);
});

test('characters whose bytes come apart stay whole, bytes that are none and NULs are shown', async () => {
  const id = await begin(`printf 'a\\303'; sleep 2; printf '\\244b\\377c\\0d'`);
  const { output } = await write({ session_id: id, yield_time_ms: 30_000 });
  expect(output.split('\n')[1]).toBe('äb\ufffdc\u2400d');
});

test('a flood from a terminal is kept in bounded memory, head and tail, and says what is left out', async () => {
  const id = await begin('echo first; yes 0123456789', { tty: true });
  const before = process.memoryUsage().rss;
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const { output, handle } = await write({ session_id: id, chars: '\u0003', yield_time_ms: 30_000 });
  expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
  expect(output).toMatch(/^exit code 130/);
  expect(output).toContain('left out; stored as');
  expect(output.length).toBeLessThan(60_000);
  expect(handle).toBeDefined();
});

test('max_output_tokens cuts an answer further, and the whole is stored', async () => {
  const { output, handle } = await exec({ cmd: 'seq 1 2000', max_output_tokens: 100 });
  expect(output.length).toBeLessThan(700);
  expect(output).toMatch(/\n1\n2\n[\s\S]*left out; stored as[\s\S]*\n2000\n$/);
  expect(handle).toBeDefined();
});

test('an interrupt of a call ends its session within 2 s, with all in it; others go on', async () => {
  const [kept, seconds, other] = [uniqueSeconds(), uniqueSeconds(), uniqueSeconds()];
  await begin(`sleep ${kept}`);
  const id = await begin(`trap '' TERM INT HUP; (setsid sleep ${seconds} &); sleep ${seconds}`, {
    tty: true,
  });
  for (const [call, sleeping] of [
    [(signal: AbortSignal) => write({ session_id: id, yield_time_ms: 60_000 }, { signal }), seconds],
    [(signal: AbortSignal) => exec({ cmd: `sleep ${other}`, tty: true }, { signal }), other],
  ] as const) {
    const controller = new AbortController();
    const running = call(controller.signal);
    running.catch(() => {});
    expect(await eventually(() => processesWith(`sleep\0${sleeping}`).length > 0)).toBe(true);
    const started = performance.now();
    controller.abort(new Error('interrupted'));
    await expect(running).rejects.toThrow('interrupted');
    expect(processesWith(sleeping)).toEqual([]);
    expect(performance.now() - started).toBeLessThan(20_000);
  }
  expect((await write({ session_id: id })).output).toContain('since the call was interrupted');
  expect(processesWith(`sleep\0${kept}`)).toHaveLength(1);
});

test('more sessions than the most are refused, with those that are open; what has ended makes room', async () => {
  const first = await begin('echo ready; sleep 1');
  const second = await begin('cat', { tty: true });
  const refused = exec({ cmd: 'true' });
  await expect(refused).rejects.toMatchObject({
    code: 'limit_command_sessions',
    hint: expect.stringMatching(new RegExp(`${first} \\(echo ready.*${second} \\(cat\\).*write_stdin`)),
  });
  await eventually(() => processesWith('echo ready; sleep 1').length === 0);
  await vi.waitFor(async () => expect((await exec({ cmd: 'echo fits' })).output).toContain('fits'), {
    timeout: 10_000,
  });
  expect((await write({ session_id: first })).output).toContain('its last output was given up');
});

test.skipIf(!state.works)('one that is refused leaves nothing of its sandbox', async () => {
  const contained = { settings: { sandbox_mode: 'workspace-write' } as const };
  for (let i = 0; i < 2; i++) await begin('cat', { tty: true }, contained);
  await expect(exec({ cmd: 'true' }, contained)).rejects.toMatchObject({ code: 'limit_command_sessions' });
  await commands.close();
  expect(readdirSync(folder)).toEqual([]);
});

test('the most of a worker holds over all of its agents', async () => {
  await begin('cat', { tty: true });
  await begin('cat', { tty: true });
  const other = contextIn(folder, { settings: free, commands });
  other.agent.agent_id = `${other.agent.agent_id}/worker-1` as typeof other.agent.agent_id;
  const run = (cmd: string) =>
    execCommand.run(execCommand.parameters.parse({ cmd, tty: true, yield_time_ms: 100 }), other);
  await run('cat');
  await expect(run('cat')).rejects.toMatchObject({
    code: 'limit_command_sessions',
    message: expect.stringContaining('on this worker'),
  });
  await commands.endOf(other.agent.agent_id);
  expect(commands.agents).toHaveLength(1);
});

test('a session of another agent, and one that there never was, are not found; the own ones are named', async () => {
  const id = await begin('cat', { tty: true });
  const context = contextIn(folder, { settings: free, commands });
  context.agent.agent_id = `${context.agent.agent_id}/worker-1` as typeof context.agent.agent_id;
  const foreign = (await writeStdin.run(
    writeStdin.parameters.parse({ session_id: id, chars: 'x\n' }),
    context,
  )) as ToolResult;
  expect(foreign).toMatchObject({ success: false });
  expect(JSON.parse(foreign.output).error).toMatchObject({ code: 'command_session_not_found' });
  expect(foreign.output).not.toContain('cat');
  const unknown = await write({ session_id: id + 1 });
  expect(unknown.output).toContain(`Open: ${id} (cat).`);
});

test('a command has nothing of the terminals of others', async () => {
  await begin('cat', { tty: true });
  for (const tty of [false, true]) {
    const { output } = await exec({ cmd: 'ls -l /proc/self/fd', tty });
    expect(output).toMatch(/^exit code 0/);
    expect(output).not.toContain('ptmx');
  }
});

test('nor has what goes on beside it, which would keep its output from ending', async () => {
  await exec({ cmd: 'true' });
  const first = watchdog.pid as number;
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await begin('cat', { tty: true });
  // One that starts while a terminal is open, as with the first command of a worker.
  process.kill(first, 'SIGKILL');
  expect(await eventually(() => watchdog.pid !== undefined && watchdog.pid !== first)).toBe(true);
  const server = new StdioTransport({
    command: 'sleep',
    args: ['600'],
    cwd: folder,
    environment: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
    secrets: [],
  });
  await server.start();
  try {
    for (const pid of [watchdog.pid, server.pid]) {
      // It has just been started, and closes what it does not need.
      const open = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
        try {
          return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
        } catch {
          return [];
        }
      });
      expect(open.filter((path) => /ptmx|pts/.test(path))).toEqual([]);
    }
  } finally {
    await server.close();
  }
});

test('untrusted: what is typed needs an approval of its own, Ctrl-C and looking do not', async () => {
  const settings: Partial<AgentSettings> = { ...free, approval_policy: 'untrusted' };
  await expect(exec({ cmd: 'sh', tty: true }, { settings })).rejects.toBeInstanceOf(ApprovalNeeded);
  const id = await begin('sh', { tty: true }, { settings, approved: true });
  await write({ session_id: id, yield_time_ms: 100 }, { settings });
  const asked = write({ session_id: id, chars: 'touch x\n' }, { settings });
  await expect(asked).rejects.toMatchObject({ need: { summary: expect.stringContaining('touch x') } });
  const typed = { session_id: id, chars: 'echo a""b\n', yield_time_ms: 1_000 };
  expect((await write(typed, { settings, approved: true })).output).toContain('ab');
  const end = { session_id: id, chars: '\u0004', yield_time_ms: 30_000 };
  expect((await write(end, { settings })).output).toMatch(/^exit code 0/);
});

test('what only reads runs without a sandbox, but not on a terminal, where a pager could run commands', async () => {
  const tool = createExecCommand(async () => none);
  const settings = { sandbox_mode: 'workspace-write' as const };
  expect((await exec({ cmd: 'ls /' }, { settings }, tool)).output).toMatch(/^exit code 0/);
  await expect(exec({ cmd: 'ls /', tty: true }, { settings }, tool)).rejects.toBeInstanceOf(ApprovalNeeded);
  await expect(exec({ cmd: 'touch x' }, { settings }, tool)).rejects.toBeInstanceOf(ApprovalNeeded);
});

const WORKER = fileURLToPath(new URL('./session-worker.ts', import.meta.url));

test.each([
  ['danger-full-access', 'tty'],
  ['danger-full-access', 'pipe'],
  ['read-only', 'tty'],
  ['read-only', 'pipe'],
])('no session outlives its worker, killed with kill -9 (%s, %s)', async (sandbox, kind) => {
  if (sandbox === 'read-only' && !state.works) return;
  const seconds = uniqueSeconds();
  const worker = spawn(process.execPath, [WORKER, sandbox, kind, seconds, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [first] = (await once(worker.stdout, 'data')) as [Buffer];
  expect(first.toString()).toContain('still running');
  expect(await eventually(() => processesWith(`sleep\0${seconds}`).length === 3)).toBe(true);
  worker.kill('SIGKILL');
  expect(await eventually(() => processesWith(seconds).length === 0)).toBe(true);
});
