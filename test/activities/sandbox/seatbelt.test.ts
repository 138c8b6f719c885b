import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { decideCommand } from '../../../activities/policy/command-policy.ts';
import { probeSandboxExec } from '../../../activities/sandbox/probe-sandbox-exec.ts';
import type { Contained, SandboxedCommand } from '../../../activities/sandbox/sandboxed-command.ts';
import { containBySeatbelt, workspaceRules } from '../../../activities/sandbox/seatbelt.ts';
import { runSupervised } from '../../../activities/sandbox/supervised.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 });

let outside: string;
let work: string;
beforeEach(() => {
  // That of a user of macOS would be writable, too.
  vi.stubEnv('TMPDIR', '/tmp');
  // One among temporary files would be a root of its own.
  vi.stubEnv('HOME', '/nowhere');
  // Not below /tmp, which workspace-write may write to.
  outside = realpathSync(mkdtempSync('/var/tmp/cadre-seatbelt-'));
  work = join(outside, 'work');
  mkdirSync(work);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(outside, { recursive: true, force: true });
});

/** Stands for the program of macOS: keeps its options, and runs the command without holding anything back. */
function openProgram(...first: string[]): string {
  const program = join(outside, 'sandbox-exec');
  const script = [
    '#!/bin/sh',
    ...first,
    `printf '%s\\n' "$@" > ${outside}/options`,
    'while [ "$1" != -- ]; do case $1 in -p|-D) shift 2 ;; *) exit 64 ;; esac; done; shift',
    'exec "$@"',
  ];
  writeFileSync(program, script.join('\n'), { mode: 0o755 });
  return program;
}

function command(overrides: Partial<SandboxedCommand> = {}): SandboxedCommand {
  return {
    mode: 'workspace-write',
    workingDirectory: work,
    cwd: work,
    stateDir: join(outside, 'state'),
    environment: { PATH: '/usr/bin:/bin' },
    argv: ['/bin/sh', '-c', 'true'],
    ...overrides,
  };
}

async function output({ argv, hasNamespace }: Contained, environment: Record<string, string>) {
  let text = '';
  const end = await runSupervised({
    argv,
    cwd: work,
    environment,
    signal: new AbortController().signal,
    timeoutMs: 30_000,
    sandboxed: true,
    hasNamespace,
    onOutput: (chunk) => {
      text += chunk.toString();
    },
  });
  return { text, exitCode: end.exitCode };
}

describe('what a command in workspace-write may do', () => {
  const rulesOf = (overrides: Partial<SandboxedCommand> = {}) =>
    workspaceRules(command(overrides), '/worker/own');

  test('is said by paths whose links are resolved, each of them once', () => {
    symlinkSync(work, join(outside, 'link'));
    mkdirSync(join(outside, 'cache'));
    const more = [join(outside, 'link'), join(outside, 'cache')];
    const open = { writable_roots: more, network: false };
    const { writable, guarded } = rulesOf({ workingDirectory: join(outside, 'link'), open });
    expect(writable).toEqual([realpathSync('/tmp'), work, join(outside, 'cache')]);
    expect(guarded).toEqual(writable);
  });

  test('leaves what is protected as it is, where it is missing, and where a link leads, too', () => {
    const shared = join(outside, 'shared');
    mkdirSync(shared);
    symlinkSync(shared, join(work, '.claude'));
    symlinkSync('later/on', join(work, '.agents'));
    mkdirSync(join(outside, 'real', 'git'), { recursive: true });
    writeFileSync(join(work, '.git'), `gitdir: ${join(outside, 'real', 'git')}\n`);
    const { readOnly } = rulesOf();
    const names = ['.git', '.cadre', '.codex', '.claude', '.agents'].map((name) => join(work, name));
    const led = [shared, join(work, 'later', 'on'), join(outside, 'real', 'git')];
    expect(readOnly).toEqual(expect.arrayContaining([...names, ...led]));
  });

  test('leaves alone CADRE_HOME, there or not, the pipes of the worker, and roots that are missing', () => {
    symlinkSync(work, join(outside, 'link'));
    const open = { writable_roots: [join(work, 'missing')], network: true };
    const rules = rulesOf({ stateDir: join(outside, 'link', 'not', 'yet'), open });
    expect(rules.readOnly).toEqual(
      expect.arrayContaining([join(work, 'not', 'yet'), '/worker/own', join(work, 'missing')]),
    );
    expect(rules.writable).not.toContain(join(work, 'missing'));
  });

  test('has the network and a terminal only where it is given them', () => {
    expect(rulesOf()).toMatchObject({ network: false, hasTerminal: false });
    const open = { writable_roots: [], network: true };
    expect(rulesOf({ open, hasTerminal: true })).toMatchObject({ network: true, hasTerminal: true });
  });

  test('reaches sockets in the folders that it was given, not in those that hold the ones of others', () => {
    mkdirSync(join(outside, 'cache'));
    const open = { writable_roots: ['/tmp', join(outside, 'cache')], network: false };
    expect(rulesOf({ open }).sockets).toEqual(
      process.platform === 'darwin' ? [work, join(outside, 'cache')] : ['/tmp', work, join(outside, 'cache')],
    );
    expect(rulesOf({ workingDirectory: '/' }).sockets).toEqual([]);
  });
});

describe('the command line', () => {
  test('gives the profile its paths as parameters, and the command its words, folder and exit code', async () => {
    const folder = join(work, 'a "b" (c) = d');
    mkdirSync(folder);
    const argv = ['/bin/sh', '-c', 'pwd; echo "$1"; exit 42', 'sh', 'a  "b" $HOME'];
    const asked = command({ workingDirectory: folder, argv });
    const contained = await containBySeatbelt(asked, openProgram());
    expect(await output(contained, {})).toEqual({ text: `${work}\na  "b" $HOME\n`, exitCode: 42 });
    const options = readFileSync(join(outside, 'options'), 'utf8');
    expect(options).toContain(`=${folder}\n-D\n`);
    const profile = contained.argv[contained.argv.indexOf('-p') + 1];
    expect(profile).toMatch(/^\(version 1\)\n\(deny default\)\n/);
    expect(profile).not.toContain(outside);
    expect(await contained.release()).toEqual([]);
  });

  test('sets inside what names the libraries of programs: it does not reach what starts the sandbox', async () => {
    const program = openProgram('env | grep -c -e LD_X');
    const environment = { LD_X: 'lib', DYLD_X: 'lib' };
    const argv = ['/bin/sh', '-c', 'echo "$LD_X $DYLD_X"'];
    const contained = await containBySeatbelt(command({ environment, argv }), program);
    expect((await output(contained, environment)).text).toBe('0\nlib lib\n');
  });

  test('keeps a folder for temporary files that may be written to, and names /tmp in place of another', async () => {
    const argv = ['/bin/sh', '-c', 'echo "$TMPDIR"'];
    const told = async (TMPDIR: string) => {
      const environment = { TMPDIR };
      return (
        await output(await containBySeatbelt(command({ environment, argv }), openProgram()), environment)
      ).text;
    };
    mkdirSync(join(work, 'own'));
    expect(await told(join(work, 'own'))).toBe(`${join(work, 'own')}\n`);
    expect(await told(outside)).toBe('/tmp\n');
  });

  test('in read-only there is one private folder that may be written to, gone afterwards', async () => {
    const argv = ['/bin/sh', '-c', 'echo "$TMPDIR"; echo x > "$TMPDIR/file"; cat "$TMPDIR/file"'];
    const open = { writable_roots: [work], network: true };
    const contained = await containBySeatbelt(command({ mode: 'read-only', open, argv }), openProgram());
    const [folder = '', word] = (await output(contained, {})).text.split('\n');
    expect(word).toBe('x');
    expect(contained.argv.filter((part) => part.startsWith('WRITABLE_'))).toEqual([`WRITABLE_0=${folder}`]);
    expect(contained.argv.join('\n')).not.toContain('mDNSResponder');
    expect(existsSync(folder)).toBe(true);
    await contained.release();
    expect(existsSync(folder)).toBe(false);
  });
});

describe('finding out whether it works', () => {
  test('a machine without the program has no sandbox', async () => {
    const state = await probeSandboxExec(join(outside, 'none'));
    expect(state).toMatchObject({ works: false, reason: expect.stringContaining('is not there') });
  });

  test('nor has one where a command gets done what it must not, and then only harmless ones run by themselves', async () => {
    const state = await probeSandboxExec(openProgram());
    expect(state).toMatchObject({ works: false, reason: expect.stringContaining('it did not hold back') });
    if (state.works) return;
    const settings = { sandbox_mode: 'workspace-write', approval_policy: 'on-request' } as const;
    const decide = (line: string) =>
      decideCommand({ command: line, cwd: work, approved: false }, settings, state);
    expect(decide('ls').run).toBe('harmless');
    expect(decide('touch x')).toMatchObject({ run: 'unapproved', contained: false });
  });

  test('nor has one that refuses the profile, or is a sandbox itself, which is told apart', async () => {
    const nested = openProgram('echo "sandbox-exec: sandbox_apply: Operation not permitted" >&2; exit 71');
    expect(await probeSandboxExec(nested)).toMatchObject({
      works: false,
      reason: expect.stringContaining('Operation not permitted'),
      hint: expect.stringContaining('in another'),
    });
    const old = openProgram('echo "unbound variable: mach-host*" >&2; exit 65');
    expect(await probeSandboxExec(old)).toMatchObject({
      works: false,
      reason: expect.stringContaining('unbound variable'),
      hint: expect.stringContaining('Report it'),
    });
  });

  test('nor one in which nothing can be done at all, and nothing is left of trying', async () => {
    const program = join(outside, 'sandbox-exec');
    writeFileSync(program, '#!/bin/sh\necho end\n', { mode: 0o755 });
    vi.stubEnv('TMPDIR', outside);
    expect(await probeSandboxExec(program)).toMatchObject({
      works: false,
      reason: expect.stringContaining('nothing could be written inside'),
    });
    expect(readdirSync(outside).toSorted()).toEqual(['sandbox-exec', 'work']);
  });
});
