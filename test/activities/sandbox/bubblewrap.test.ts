import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { contain } from '../../../activities/sandbox/contained.ts';
import { sandboxReport } from '../../../activities/sandbox/detect-sandbox.ts';
import { probeBubblewrap } from '../../../activities/sandbox/probe-bubblewrap.ts';
import { runSupervised } from '../../../activities/sandbox/supervised.ts';
import { writableRoots } from '../../../activities/sandbox/writable-places.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 });

const state = await probeBubblewrap();
if (!state.works) console.warn(`sandbox tests are skipped: ${state.reason}. ${state.hint}`);

const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: homedir() };
let outside: string;
let work: string;
beforeEach(() => {
  // Not below /tmp, which workspace-write may write to.
  outside = mkdtempSync(join(existsSync('/var/tmp') ? '/var/tmp' : homedir(), 'cadre-outside-'));
  work = join(outside, 'work');
  mkdirSync(work);
});
afterEach(() => rmSync(outside, { recursive: true, force: true }));

async function run(
  mode: 'read-only' | 'workspace-write',
  script: string,
  stateDir = join(outside, 'state'),
  workingDirectory = work,
  cwd = work,
) {
  if (!state.works) throw new Error('no sandbox');
  let output = '';
  // As tools do: what stands for missing folders in /tmp, for commands of other tests, would go meanwhile otherwise.
  const { release, ...contained } = await contain(state.bubblewrap, {
    mode,
    workingDirectory,
    cwd,
    stateDir,
    environment,
    argv: ['/bin/sh', '-c', script],
  });
  const end = await runSupervised({
    ...contained,
    cwd: work,
    environment,
    signal: new AbortController().signal,
    timeoutMs: 30_000,
    sandboxed: true,
    onOutput: (chunk) => {
      output += chunk.toString();
    },
  }).finally(release);
  return { output, exitCode: end.exitCode };
}

describe.skipIf(!state.works)('inside the sandbox', () => {
  test('read-only reads everything and writes nothing, not even in /tmp', async () => {
    writeFileSync(join(outside, 'secret.txt'), 'readable');
    const target = join(tmpdir(), `cadre-must-not-exist-${process.pid}`);
    const { output } = await run(
      'read-only',
      `cat ../secret.txt; echo x > here; echo x > ../there; echo x > ${target}; mkdir sub; ln -s a b; echo done`,
    );
    expect(output.startsWith('readable')).toBe(true);
    expect(output.endsWith('done\n')).toBe(true);
    for (const path of [
      join(work, 'here'),
      join(outside, 'there'),
      target,
      join(work, 'sub'),
      join(work, 'b'),
    ]) {
      expect(existsSync(path)).toBe(false);
    }
  });

  test('read-only still has a place for temporary files, which is gone afterwards', async () => {
    const script = 'f=$(mktemp) && echo kept > "$f" && cat "$f" && echo "$f"';
    const { output } = await run('read-only', script);
    const [word, path] = output.trim().split('\n');
    expect(word).toBe('kept');
    expect(existsSync(path as string)).toBe(false);
  });

  test('workspace-write writes below the working directory and /tmp, nowhere else', async () => {
    const inTmp = `cadre-sandbox-${process.pid}-${Date.now()}`;
    const { output } = await run(
      'workspace-write',
      `echo a > here; mkdir -p d/e; echo b > /tmp/${inTmp}; echo c > ../there; echo d > /etc/cadre-test; echo end`,
    );
    expect(readFileSync(join(work, 'here'), 'utf8')).toBe('a\n');
    expect(existsSync(join(work, 'd/e'))).toBe(true);
    expect(readFileSync(`/tmp/${inTmp}`, 'utf8')).toBe('b\n');
    rmSync(`/tmp/${inTmp}`);
    expect(existsSync(join(outside, 'there'))).toBe(false);
    expect(existsSync('/etc/cadre-test')).toBe(false);
    expect(output.endsWith('end\n')).toBe(true);
  });

  test('links and .. do not lead out', async () => {
    symlinkSync(outside, join(work, 'up'));
    symlinkSync('/etc', join(work, 'etc'));
    await run(
      'workspace-write',
      `echo x > up/there; echo x > etc/cadre-test; echo x > ../../$(basename ${outside})/there; ln -s ${outside} l2; echo x > l2/there; mv here ../ 2>/dev/null; ln ../work ../hard; true`,
    );
    expect(existsSync(join(outside, 'there'))).toBe(false);
    expect(existsSync('/etc/cadre-test')).toBe(false);
  });

  test.each(['.git', '.cadre', '.codex', '.claude', '.agents'])(
    '%s stays read-only inside the working directory',
    async (name) => {
      mkdirSync(join(work, name, 'hooks'), { recursive: true });
      writeFileSync(join(work, name, 'config'), 'before');
      await run(
        'workspace-write',
        `echo x > ${name}/hooks/pre-commit; echo after > ${name}/config; rm -rf ${name}; mv ${name} moved; echo x > ${name}/new; umount ${name}; true`,
      );
      expect(readFileSync(join(work, name, 'config'), 'utf8')).toBe('before');
      expect(existsSync(join(work, name, 'hooks/pre-commit'))).toBe(false);
      expect(existsSync(join(work, name, 'new'))).toBe(false);
    },
  );

  test('the state folder is read-only even where it lies in a writable one', async () => {
    const stateDir = join(work, 'state');
    mkdirSync(stateDir);
    await run('workspace-write', 'echo x > state/forged; rm -rf state; true', stateDir);
    expect(existsSync(stateDir)).toBe(true);
    expect(existsSync(join(stateDir, 'forged'))).toBe(false);
  });

  test('there is no network, not even to this machine', async () => {
    const server = createServer((_, response) => response.end('reached'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const script = `require('net').connect(${port},'127.0.0.1').on('connect',()=>console.log('reached')).on('error',e=>console.log(e.code))`;
    const { output } = await run('workspace-write', `${process.execPath} -e "${script}"; ls /sys/class/net`);
    server.close();
    expect(output).toContain('ECONNREFUSED');
    expect(output).not.toContain('reached');
  });

  test('other processes, and by that their environments, are out of sight', async () => {
    process.env.CADRE_TEST_SECRET_KEY = 'hidden-value';
    const { output } = await run(
      'workspace-write',
      `cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/${process.pid}/environ; kill -9 ${process.pid}; ls -d /proc/[0-9]* 2>/dev/null | wc -l`,
    );
    delete process.env.CADRE_TEST_SECRET_KEY;
    expect(output).not.toContain('hidden-value');
    expect(Number(output.trim().split('\n').at(-1))).toBeLessThan(10);
  });

  test('the kernel and its devices cannot be touched', async () => {
    const { output } = await run(
      'workspace-write',
      'mount -o remount,rw / && echo mounted; mknod n b 8 0 && echo made; echo 0 > /proc/sys/kernel/core_uses_pid && echo set; ls /dev/sda /dev/mem /dev/kmsg && echo devices; ls -A /run; echo end',
    );
    for (const word of ['mounted', 'made', 'set', 'devices', 'docker.sock'])
      expect(output).not.toContain(`${word}\n`);
    expect(output).toContain('end');
  });

  test('a working directory that is the whole machine opens neither processes nor devices nor sockets', async () => {
    process.env.CADRE_TEST_SECRET_KEY = 'hidden-value';
    const { output } = await run(
      'workspace-write',
      `cat /proc/*/environ | tr '\\0' '\\n'; ls -d /proc/[0-9]* 2>/dev/null | wc -l; ls /run; ls /dev | grep -c sda; echo x > ../there && echo wrote`,
      join(outside, 'state'),
      '/',
    );
    delete process.env.CADRE_TEST_SECRET_KEY;
    expect(output).not.toContain('hidden-value');
    expect(output).toContain('wrote');
  });

  test.each(['/proc', '/sys', '/dev', '/run', '/proc/sys'])(
    '%s as working directory stays as it is',
    async (path) => {
      const { output } = await run(
        'workspace-write',
        'ls -d /proc/[0-9]* 2>/dev/null | wc -l; (echo 0 > /proc/sys/kernel/core_uses_pid) && echo set; ls /dev/sda; ls -A /run | head',
        join(outside, 'state'),
        path,
      );
      expect(Number(output.split('\n')[0])).toBeLessThan(10);
      expect(output).not.toContain('set\n');
    },
  );

  test('the sockets of terminals and displays in /tmp are out of reach', async () => {
    const sockets = mkdtempSync('/tmp/tmux-cadre-');
    writeFileSync(join(sockets, 'default'), 'a socket');
    for (const mode of ['read-only', 'workspace-write'] as const) {
      const { output } = await run(mode, `ls ${sockets}; echo end`);
      expect(output).toBe('end\n');
    }
    rmSync(sockets, { recursive: true });
  });

  test('setuid programs gain nothing', async () => {
    const { output } = await run('read-only', 'grep NoNewPrivs /proc/self/status');
    expect(output).toMatch(/NoNewPrivs:\s+1/);
  });

  test('the exit code of the command comes through', async () => {
    expect((await run('read-only', 'exit 42')).exitCode).toBe(42);
    expect((await run('read-only', 'kill -TERM $$')).exitCode).toBe(143);
  });

  test('one that cannot be set up is told as that, and not as what the command has done', async () => {
    const gone = join(work, 'gone');
    const failed = run('workspace-write', 'echo ran', join(outside, 'state'), work, gone);
    await expect(failed).rejects.toMatchObject({
      code: 'tool_failed',
      message: expect.stringMatching(/^The sandbox could not be set up: .*gone/),
      hint: 'Nothing was run. Try again.',
    });
  });

  test('a command that says what bubblewrap does is still its own', async () => {
    const { output, exitCode } = await run('workspace-write', 'echo bwrap: no >&2; exit 1');
    expect({ output, exitCode }).toEqual({ output: 'bwrap: no\n', exitCode: 1 });
  });

  test('a detached command dies with the call', async () => {
    const file = join(work, 'late');
    await run('workspace-write', `setsid sh -c 'sleep 2; echo x > ${file}' & true`);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(existsSync(file)).toBe(false);
  });
});

test('the working directory is taken by its real path, and /tmp only once', () => {
  // A home among temporary files would be a root of its own, and so is the folder that `TMPDIR` names.
  vi.stubEnv('HOME', '/nowhere');
  vi.stubEnv('TMPDIR', '/tmp');
  onTestFinished(() => void vi.unstubAllEnvs());
  symlinkSync(work, join(outside, 'link'));
  expect(writableRoots(join(outside, 'link'))).toEqual([realpathSync('/tmp'), realpathSync(work)]);
  expect(writableRoots('/tmp')).toEqual([realpathSync('/tmp')]);
  expect(writableRoots(join(outside, 'missing'))).toEqual([realpathSync('/tmp')]);
});

test('without bubblewrap the report says what follows from it and how to install it', async () => {
  const report = await sandboxReport(async () => ({
    works: false,
    reason: 'bubblewrap is not installed',
    hint: 'Install it: apt-get install bubblewrap',
  }));
  expect(report).toEqual({
    works: false,
    detail: 'bubblewrap is not installed; without a sandbox only commands known to be harmless run',
    hint: 'Install it: apt-get install bubblewrap',
  });
});

test('bubblewrap is never taken from a folder that a repository may fill', async () => {
  const bin = join(outside, 'node_modules', '.bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'bwrap'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  const probed = await probeBubblewrap(bin);
  if (probed.works) expect(probed.bubblewrap.program).not.toContain('node_modules');
});
