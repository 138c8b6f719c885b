import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { detectSandbox, type SandboxState } from '../../../activities/sandbox/detect-sandbox.ts';
import { ApprovalNeeded } from '../../../activities/tools/approval-needed.ts';
import type { ToolResult } from '../../../activities/tools/define-tool.ts';
import { createShell, shell } from '../../../activities/tools/shell.ts';
import type { AgentSettings } from '../../../protocol/index.ts';
import { handlePath } from '../../../rollout/handle-files.ts';
import { eventually, processesWith, uniqueSeconds } from '../sandbox/processes.ts';
import { contextIn } from './tool-context.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 });

const none: SandboxState = {
  works: false,
  reason: 'no bubblewrap',
  hint: 'Install it: apt-get install bubblewrap',
};
const state = await detectSandbox();
if (!state.works) console.warn(`some tests are skipped: ${state.reason}. ${state.hint}`);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-shell-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const free: Partial<AgentSettings> = { sandbox_mode: 'danger-full-access' };

async function run(
  args: Record<string, unknown>,
  options: Parameters<typeof contextIn>[1] = { settings: free },
  tool = shell,
): Promise<ToolResult> {
  const result = await tool.run(tool.parameters.parse(args), contextIn(folder, options));
  return typeof result === 'string' ? { output: result, success: true } : result;
}

/** What a person is asked instead of running the command. */
async function needOf(...call: Parameters<typeof run>): Promise<ApprovalNeeded> {
  const error = await run(...call).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(error instanceof ApprovalNeeded)) throw new Error(`nobody was asked: ${error}`);
  return error;
}

test('the result tells exit code, duration and output', async () => {
  const { output, success } = await run({ command: 'echo a; echo b >&2; exit 3' });
  expect(output).toMatch(/^exit code 3, \d+\.\d s\na\nb\n$/);
  expect(success).toBe(false);
  expect(await run({ command: ['printf', '%s', '$HOME *'] })).toMatchObject({
    success: true,
    output: expect.stringContaining('\n$HOME *'),
  });
});

test('a command runs in the working directory, or where it is told to', async () => {
  expect((await run({ command: 'pwd' })).output).toContain(`\n${folder}\n`);
  expect((await run({ command: 'pwd', workdir: '/' })).output).toContain('\n/\n');
  await expect(run({ command: 'pwd', workdir: 'missing' })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
  writeFileSync(join(folder, 'file'), '');
  await expect(run({ command: 'pwd', workdir: 'file' })).rejects.toThrow('is not a folder');
});

test('a signal, an unknown command and a time-out are told in words', async () => {
  expect((await run({ command: 'kill -KILL $$' })).output).toMatch(/^exit code 137 \(SIGKILL\)/);
  const missing = await run({ command: ['no-such-command'] });
  expect(missing.output).toMatch(/^exit code 127.*\n.*no-such-command.*not found/);
  const late = await run({ command: 'echo begun; sleep 60', timeout_ms: 2_000 });
  expect(late.output).toMatch(/^stopped after the time limit of 2000 ms .*\nbegun\n$/);
  expect(late.success).toBe(false);
});

test('invalid UTF-8 and NUL bytes are shown, CRLF stays', async () => {
  const { output } = await run({ command: String.raw`printf 'a\377b\0c\r\n'` });
  expect(output).toContain('a\ufffdb\u2400c\r\n');
});

test('a long output is cut in the middle and stored whole', async () => {
  const { output, handle } = await run({ command: 'seq 1 200000' });
  expect(output.length).toBeLessThan(41_000);
  expect(output).toMatch(/^exit code 0.*\n1\n2\n/);
  expect(output).toContain(`stored as ${handle}`);
  expect(output.endsWith('199999\n200000\n')).toBe(true);
  const whole = readFileSync(handlePath(join(folder, '.state'), handle as string) as string, 'utf8');
  expect(whole.split('\n')).toHaveLength(200_001);
});

test('100 MB of output are stored whole and cut to a readable size', async () => {
  const { handle } = await run({ command: 'head -c 100000000 /dev/zero' });
  expect(statSync(handlePath(join(folder, '.state'), handle as string) as string).size).toBe(100_000_000);
});

test('an interrupt ends the call with its reason within two seconds, and the process group with it', {
  retry: 2,
}, async () => {
  const seconds = uniqueSeconds();
  const controller = new AbortController();
  const running = run(
    { command: `sleep ${seconds} & sleep ${seconds}` },
    { settings: free, signal: controller.signal },
  );
  running.catch(() => {});
  expect(await eventually(() => processesWith(`sleep\0${seconds}`).length === 2)).toBe(true);
  const started = Date.now();
  controller.abort(new Error('interrupted'));
  await expect(running).rejects.toThrow('interrupted');
  expect(Date.now() - started).toBeLessThan(2_000);
  expect(processesWith(seconds)).toEqual([]);
});

test.each([
  { command: '' },
  { command: '  ' },
  { command: [] },
  { command: 'a\0b' },
  { command: ['a\0b'] },
  { command: 'ls', timeout_ms: 0 },
  { command: 'ls', timeout_ms: -1 },
  { command: 'ls', timeout_ms: 1e12 },
  { command: 'ls', timeout_ms: 1.5 },
  { command: 'ls', workdir: '' },
  { command: 'ls', other: 1 },
  { cmd: 'ls' },
])('wrong arguments are refused: %j', (args) => {
  expect(shell.parameters.safeParse(args).success).toBe(false);
});

test('a command that is too long is refused with a way out', async () => {
  await expect(run({ command: `echo ${'x'.repeat(200_000)}` })).rejects.toMatchObject({
    code: 'invalid_arguments',
    hint: 'Write the long part to a file first.',
  });
});

test('without a sandbox only harmless commands run by themselves, a person is asked about others', async () => {
  const tool = createShell(async () => none);
  writeFileSync(join(folder, 'a.txt'), 'content\n');
  expect((await run({ command: 'cat a.txt | wc -l' }, {}, tool)).output).toMatch(/^exit code 0, .*\n\s*1\n$/);
  const { need, hint } = await needOf({ command: 'touch b.txt' }, {}, tool);
  expect(need).toMatchObject({
    kind: 'command',
    summary: 'touch b.txt',
    reason: 'no sandbox works here, and nothing would contain it (touch is not known to be harmless)',
  });
  expect(hint).toContain('apt-get install bubblewrap');
  expect(existsSync(join(folder, 'b.txt'))).toBe(false);
  expect((await run({ command: 'touch b.txt' }, { approved: true }, tool)).success).toBe(true);
  expect(existsSync(join(folder, 'b.txt'))).toBe(true);
});

test('mistakes are told before anybody is asked', async () => {
  const tool = createShell(async () => none);
  for (const approved of [false, true]) {
    await expect(
      run({ command: 'touch b.txt', workdir: 'missing' }, { approved }, tool),
    ).rejects.toMatchObject({ code: 'invalid_arguments' });
    await expect(run({ command: `touch ${'x'.repeat(200_000)}` }, { approved }, tool)).rejects.toMatchObject({
      code: 'invalid_arguments',
    });
  }
});

test('a question is the same for the same words in the same folder only', async () => {
  const tool = createShell(async () => none);
  mkdirSync(join(folder, 'sub'));
  const keyOf = async (command: string | string[], workdir?: string) =>
    (await needOf({ command, ...(workdir === undefined ? {} : { workdir }) }, {}, tool)).need.key;
  const key = await keyOf('touch b.txt');
  expect(await keyOf(['touch', 'b.txt'])).toBe(key);
  expect(await keyOf('touch b.txt', '.')).toBe(key);
  const others = [
    await keyOf('touch b.txt', 'sub'),
    await keyOf('touch c.txt'),
    await keyOf(['touch', 'b.txt; rm c.txt']),
    await keyOf('touch b.txt; rm c.txt'),
  ];
  expect(new Set([key, ...others]).size).toBe(5);
  expect((await needOf({ command: 'touch b.txt', workdir: 'sub' }, {}, tool)).need.summary).toBe(
    `touch b.txt (in ${join(folder, 'sub')})`,
  );
});

test('an exit code that stands for a signal names it, as uncertain where a program may have chosen the code', async () => {
  const headOf = async (command: string, options?: Parameters<typeof contextIn>[1]) =>
    (await run({ command }, options)).output.split(',')[0];
  expect(await headOf('kill -SEGV $$')).toBe('exit code 139 (SIGSEGV)');
  expect(await headOf('exit 137')).toBe('exit code 137 (as after SIGKILL)');
  for (const code of [128, 145, 255]) expect(await headOf(`exit ${code}`)).toBe(`exit code ${code}`);
  if (!state.works) return;
  const sandboxed = { settings: { sandbox_mode: 'read-only' as const } };
  for (const signal of ['SEGV', 'KILL', 'USR1']) {
    expect(await headOf(`kill -${signal} $$`, sandboxed)).toMatch(/^exit code 1\d\d \(as after SIG\w+\)$/);
    expect(await headOf(`kill -${signal} $$`, sandboxed)).toContain(signal);
  }
});

test('the same command is another question where the sandbox of the agent is another', async () => {
  const tool = createShell(async () => none);
  const keys = await Promise.all(
    (['read-only', 'workspace-write'] as const).map(
      async (sandbox_mode) =>
        (await needOf({ command: 'make' }, { settings: { sandbox_mode } }, tool)).need.key,
    ),
  );
  expect(new Set(keys).size).toBe(2);
});

test('a program of the same name in the repository is not what runs as harmless', async () => {
  const tool = createShell(async () => none);
  writeFileSync(join(folder, 'ls'), `#!/bin/sh\ntouch ${folder}/pwned\n`, { mode: 0o755 });
  await run({ command: 'ls' }, { environment: { PATH: `${folder}:/usr/bin:/bin` } }, tool);
  expect(existsSync(join(folder, 'pwned'))).toBe(false);
});

test('under the policy untrusted only harmless commands run, whatever contains them', async () => {
  for (const tool of [createShell(async () => none), shell]) {
    for (const sandbox_mode of ['workspace-write', 'danger-full-access'] as const) {
      const settings = { approval_policy: 'untrusted', sandbox_mode } as const;
      expect((await run({ command: 'ls' }, { settings }, tool)).success).toBe(true);
      expect((await needOf({ command: 'touch b.txt' }, { settings }, tool)).need.reason).toContain(
        'the approval policy is "untrusted"',
      );
    }
  }
  expect(existsSync(join(folder, 'b.txt'))).toBe(false);
});

describe.skipIf(!state.works)('with a sandbox', () => {
  test.each(['on-request', 'never'] as const)(
    'policy %s asks nobody: the sandbox contains the command',
    async (approval_policy) => {
      const settings = { approval_policy };
      expect((await run({ command: 'touch b.txt' }, { settings })).success).toBe(true);
      expect(existsSync(join(folder, 'b.txt'))).toBe(true);
      const readOnly = await run(
        { command: 'touch c.txt' },
        { settings: { ...settings, sandbox_mode: 'read-only' } },
      );
      expect(readOnly).toMatchObject({
        success: false,
        output: expect.stringContaining('Read-only file system'),
      });
      expect(existsSync(join(folder, 'c.txt'))).toBe(false);
    },
  );

  test('a command that a person has allowed stays in the sandbox of its mode', async () => {
    const settings = { approval_policy: 'untrusted', sandbox_mode: 'read-only' } as const;
    expect((await needOf({ command: 'touch b.txt' }, { settings })).need.reason).not.toContain('contain it');
    const readOnly = await run({ command: 'touch b.txt' }, { settings, approved: true });
    expect(readOnly).toMatchObject({
      success: false,
      output: expect.stringContaining('Read-only file system'),
    });
    const writable = { ...settings, sandbox_mode: 'workspace-write' } as const;
    const allowed = await run(
      { command: 'touch b.txt; ls /proc | grep -c "^[0-9]"' },
      { settings: writable, approved: true },
    );
    expect(allowed.success).toBe(true);
    expect(existsSync(join(folder, 'b.txt'))).toBe(true);
    // It sees no other process.
    expect(Number(allowed.output.trim().split('\n').at(-1))).toBeLessThan(10);
  });

  test('a command that is not found is told as such', async () => {
    expect((await run({ command: ['no-such-command'] }, {})).output).toMatch(
      /^exit code 127.*\n.*no-such-command.*not found/,
    );
  });

  test('what the shell cannot see: the environment of the worker', async () => {
    const { output } = await run(
      { command: 'env; cat /proc/*/environ | tr "\\0" "\\n"' },
      { environment: { PATH: '/usr/bin:/bin', ONLY: 'this' } },
    );
    expect(output).toContain('ONLY=this');
    expect(output).not.toContain('VITEST');
  });
});

test.skipIf(!state.works)(
  'what needs no approval under the policy untrusted does just that inside a sandbox, too, also when it asks to leave it',
  async () => {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=n', '-c', 'user.email=e', ...args], { cwd: folder });
    git('init', '-q');
    writeFileSync(join(folder, 'f'), 'a\n');
    git('add', 'f');
    git('commit', '-qm', 'first');
    writeFileSync(join(folder, 'f'), 'b\n');
    git('config', 'diff.external', 'touch ran-diff; false');
    git('config', 'core.fsmonitor', 'touch ran-monitor; false');
    const bin = join(folder, 'node_modules/.bin');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'ls'), '#!/bin/sh\ntouch ran-ls\n', { mode: 0o755 });
    const environment = { PATH: `${bin}:${process.env.PATH}`, HOME: folder };
    const leaving = { sandbox_permissions: 'require_escalated', justification: 'why not' };
    const policies = [
      ['untrusted', {}],
      ['on-request', leaving],
    ] as const;
    for (const [approval_policy, more] of policies) {
      for (const command of ['git diff', 'git status', 'ls', 'bash -c ls'])
        await run({ command, ...more }, { settings: { approval_policy }, environment }).catch(() => {});
    }
    const ran = ['ran-diff', 'ran-monitor', 'ran-ls'].filter((name) => existsSync(join(folder, name)));
    expect(ran).toEqual([]);
  },
);

describe.skipIf(!state.works || process.platform !== 'linux')('what a sandbox is made of', () => {
  const whole = { settings: { sandbox_mode: 'workspace-write' } as const };

  /** Somebody takes a folder away while the sandbox is set up, so many times. */
  function taking(path: string, times: number) {
    let left = times;
    const contain: typeof found.contain = async (command) => {
      mkdirSync(path, { recursive: true });
      const contained = await found.contain(command);
      if (left-- > 0) rmSync(path, { recursive: true });
      return contained;
    };
    return createShell(async () => ({ ...found, contain }));
  }
  const found = state as Extract<SandboxState, { works: true }>;

  test('may go while it is set up: the command begins once, in a new one', async () => {
    const tool = taking(join(folder, '.claude'), 2);
    const { output, success } = await run({ command: 'echo x >> runs; cat runs' }, whole, tool);
    expect({ output, success }).toEqual({
      output: expect.stringMatching(/^exit code 0, .*\nx\n$/),
      success: true,
    });
  });

  test('is told where it goes again and again, and that nothing was run', async () => {
    const tool = taking(join(folder, '.claude'), 9);
    await expect(run({ command: 'echo x >> runs' }, whole, tool)).rejects.toMatchObject({
      message: expect.stringMatching(/^The sandbox could not be set up: .*\.claude/),
      hint: 'Nothing was run. Try again.',
    });
    expect(existsSync(join(folder, 'runs'))).toBe(false);
    expect((await run({ command: 'false' }, whole)).output).toMatch(/^exit code 1, /);
  });

  test('may be the folder to run in, which is then what has gone', async () => {
    const inner = join(folder, 'inner');
    const tool = taking(inner, 1);
    mkdirSync(inner);
    await expect(run({ command: 'true', workdir: 'inner' }, whole, tool)).rejects.toThrow(
      `could not be started: the folder ${inner} has gone meanwhile`,
    );
  });
});
