import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CommandSessions } from '../../../activities/commands/command-sessions.ts';
import type { ToolResult } from '../../../activities/tools/define-tool.ts';
import { execCommand } from '../../../activities/tools/exec-command.ts';
import { writeStdin } from '../../../activities/tools/write-stdin.ts';
import { eventually, processesWith, uniqueSeconds } from '../sandbox/processes.ts';
import { contextIn } from './tool-context.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const WORKER = fileURLToPath(new URL('./typing-worker.ts', import.meta.url));
/** A worker whose main thread hangs answers nothing, not even SIGTERM. */
const HANGS_MS = 60_000;

let folder: string;
let commands: CommandSessions;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-typing-'));
  commands = new CommandSessions();
});
afterEach(async () => {
  await commands.close();
  rmSync(folder, { recursive: true, force: true });
});

const context = () => contextIn(folder, { settings: { sandbox_mode: 'danger-full-access' }, commands });

async function write(args: object): Promise<ToolResult> {
  return (await writeStdin.run(writeStdin.parameters.parse(args), context())) as ToolResult;
}

/** A session on a terminal whose program says `ready` once it has set that. */
async function begin(cmd: string): Promise<number> {
  const args = execCommand.parameters.parse({ cmd, tty: true, yield_time_ms: 100 });
  const { command_session: session, output } = (await execCommand.run(args, context())) as ToolResult;
  const id = session?.id as number;
  let seen = output;
  for (let round = 0; round < 100 && !seen.includes('ready'); round++) {
    seen += (await write({ session_id: id, yield_time_ms: 100 })).output;
  }
  expect(seen).toContain('ready');
  return id;
}

const LINES = 'y\n'.repeat(10_000);

test.each([
  ['by line, then a shutdown', '', LINES, 'SIGTERM'],
  ['raw, then a shutdown', 'stty raw -echo;', 'y'.repeat(50_000), 'SIGTERM'],
  ['by line, then an interrupt', '', LINES, 'SIGUSR2'],
] as const)(
  'typing to a program that never reads comes back, and holds up nothing (%s)',
  async (_, mode, chars, signal) => {
    const seconds = uniqueSeconds();
    const worker = spawn(process.execPath, [WORKER, folder, `${mode} sleep ${seconds}`, chars], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const hangs = setTimeout(() => worker.kill('SIGKILL'), HANGS_MS);
    let told = '';
    worker.stdout.on('data', (chunk: Buffer) => {
      told += chunk.toString();
    });
    const ended = once(worker, 'exit');
    try {
      expect(await eventually(() => told.endsWith('}') || worker.signalCode !== null, HANGS_MS)).toBe(true);
      const [, typed] = new RegExp(`Typed (\\d+) of ${chars.length} characters`).exec(told) ?? [];
      expect(Number(typed)).toBeGreaterThan(4_000);
      expect(Number(typed)).toBeLessThan(chars.length);
      expect(JSON.parse(told)).toMatchObject({ success: false, command_session: { open: true } });
      // Now it types for as long as ten minutes.
      worker.kill(signal);
      expect(await ended).toEqual([0, null]);
      expect(told.split('\n')[1]).toContain(signal === 'SIGTERM' ? 'it was ended' : 'interrupted');
      expect(await eventually(() => processesWith(seconds).length === 0)).toBe(true);
    } finally {
      clearTimeout(hangs);
      worker.kill('SIGKILL');
    }
  },
);

test.each([
  ['by line', 'stty -echo', `${'x'.repeat(98)}\n`.repeat(500) + 'y'.repeat(499)],
  ['raw', 'stty raw -echo', 'abcdefghiä'.repeat(5_000)],
])('a program that reads gets every byte in order, also 50,000 (%s)', async (_, mode, chars) => {
  const text = `${chars}\n`.slice(-50_000);
  const bytes = Buffer.byteLength(text);
  const id = await begin(`${mode}; echo ready; head -c ${bytes} | sha256sum`);
  const { output } = await write({ session_id: id, chars: text, yield_time_ms: 60_000 });
  expect(output).toContain(createHash('sha256').update(text).digest('hex'));
});

test('a program that begins to read late gets the end of a character whose beginning was typed', async () => {
  const id = await begin('stty raw -echo; echo ready; sleep 5; head -c 20000 | sha256sum');
  // Of two bytes each, after one: they may come apart anywhere.
  const all = `x${'ä'.repeat(20_000)}`;
  const first = (await write({ session_id: id, chars: all, yield_time_ms: 500 })).output;
  const typed = Number(/Typed (\d+) of 20001/.exec(first)?.[1]);
  const rest = await write({ session_id: id, chars: all.slice(typed), yield_time_ms: 60_000 });
  const read = Buffer.from(all).subarray(0, 20_000);
  expect(first + rest.output).toContain(createHash('sha256').update(read).digest('hex'));
});

test('what a terminal would lose of a long line is refused, also where the line comes in parts', async () => {
  const id = await begin('stty -echo; echo ready; head -n 1 | wc -c');
  await expect(write({ session_id: id, chars: `${'y'.repeat(4_096)}\n` })).rejects.toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringContaining('4096 bytes'),
  });
  expect((await write({ session_id: id, chars: 'ä'.repeat(1_000) })).success).toBe(true);
  await expect(write({ session_id: id, chars: 'y'.repeat(2_096) })).rejects.toThrow('4096 bytes');
  const { output } = await write({
    session_id: id,
    chars: `${'y'.repeat(2_095)}\n`,
    yield_time_ms: 60_000,
  });
  expect(output).toContain('\n4096\n');
});

test.each([
  ['by line, with room behind what is not read', '', 'y\n'.repeat(4_000)],
  ['by line, without', '', LINES],
  ['raw', 'stty raw -echo;', 'y'.repeat(20_000)],
])('Ctrl-C stops a program that never reads (%s)', async (_, mode, chars) => {
  const id = await begin(`${mode} echo ready; sleep 600`);
  await write({ session_id: id, chars });
  const { output } = await write({ session_id: id, chars: '\u0003', yield_time_ms: 60_000 });
  expect(output).toMatch(/^exit code 130/);
});

test('Ctrl-C voids what was typed before and not read, and nothing that is typed behind it', async () => {
  const id = await begin(
    `sh -c 'trap "echo caught" INT; echo ready; sleep 600; read -r line; echo "got $line"'`,
  );
  await write({ session_id: id, chars: 'before\n'.repeat(1_000) });
  const { output } = await write({ session_id: id, chars: '\u0003behind\n', yield_time_ms: 60_000 });
  expect(output).toContain('caught');
  expect(output).toContain('got behind');
});
