import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { probeBubblewrap } from '../../../activities/sandbox/probe-bubblewrap.ts';
import { createShell, shell } from '../../../activities/tools/shell.ts';
import type { AgentSettings } from '../../../protocol/index.ts';
import { contextIn } from '../tools/tool-context.ts';
import { eventually, processesWith, uniqueSeconds } from './processes.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

/** What `docs/sandbox.md` lists: each escape is tried by a command of the tool, and looked for from outside. */
const state = await probeBubblewrap();
const MODES = ['read-only', 'workspace-write'] as const;

let outside: string;
let work: string;
beforeEach(() => {
  // Not below /tmp, which workspace-write may write to.
  outside = mkdtempSync('/var/tmp/cadre-escape-');
  work = join(outside, 'work');
  mkdirSync(work);
  writeFileSync(join(outside, 'precious'), 'untouched');
});
afterEach(() => rmSync(outside, { recursive: true, force: true }));

async function run(command: string, settings: Partial<AgentSettings>, environment = {}): Promise<string> {
  const result = await shell.run(shell.parameters.parse({ command, timeout_ms: 60_000 }), {
    ...contextIn(work, { settings }),
    stateDir: join(outside, 'state'),
    environment: { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: outside, ...environment },
  });
  return typeof result === 'string' ? result : result.output;
}

/** Nothing outside of the working directory was changed or made. */
function expectUntouched(): void {
  expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('untouched');
  expect(
    readdirSync(outside)
      .filter((name) => name !== 'state')
      .toSorted(),
  ).toEqual(['precious', 'work']);
}

async function listening(address: string | number): Promise<{ server: Server; visits: () => number }> {
  let visits = 0;
  const server = createServer((socket) => {
    visits += 1;
    socket.end('reached\n');
  });
  await new Promise<void>((resolve) => {
    if (typeof address === 'number') server.listen(address, '127.0.0.1', () => resolve());
    else server.listen({ path: address }, () => resolve());
  });
  return { server, visits: () => visits };
}

const node = (script: string) => `${process.execPath} -e '${script}'`;

describe.skipIf(!state.works).each(MODES)('tried from %s', (sandbox_mode) => {
  const settings = { sandbox_mode };

  test('writing, moving, removing and changing rights outside', async () => {
    await run(
      `echo x > ${outside}/precious; echo x >> ../precious; rm -f ../precious; mv ../precious here; chmod 000 ../precious; touch ../new; mkdir ../newdir; echo x > ~/.bashrc; echo x > /var/tmp/cadre-escaped; truncate -s 0 ../precious; true`,
      settings,
    );
    expectUntouched();
    expect(existsSync('/var/tmp/cadre-escaped')).toBe(false);
  });

  test('symbolic links, in the folder before and made by the command', async () => {
    symlinkSync('../precious', join(work, 'link'));
    symlinkSync('..', join(work, 'up'));
    await run(
      'echo x > link; echo x > up/precious; rm -rf up/precious; ln -s ../precious own; echo x > own; ln -s / root; echo x > root/$OLDPWD/precious; ln -sfn .. own2 && echo x > own2/precious; cp /etc/hostname own; true',
      settings,
    );
    expectUntouched();
  });

  test('hard links to a file outside', async () => {
    const output = await run('ln ../precious hard && echo x > hard; echo end', settings);
    expect(output).toContain('end\n');
    expectUntouched();
    expect(statSync(join(outside, 'precious')).nlink).toBe(1);
  });

  test('/proc as a way around: /proc/self/root, /proc/1/root, /proc/*/cwd, /proc/self/fd, /proc/sys', async () => {
    const core = readFileSync('/proc/sys/kernel/core_pattern', 'utf8');
    await run(
      `for p in self 1 $PPID ${process.pid}; do echo x > /proc/$p/root${outside}/precious; echo x > /proc/$p/cwd/../precious; done; for f in /proc/self/fd/* /proc/1/fd/*; do echo x > $f/../precious; echo x > $f${outside}/precious; done; echo '|/bin/false' > /proc/sys/kernel/core_pattern; echo b > /proc/sysrq-trigger; echo -n 1 > /proc/1/oom_score_adj; true`,
      settings,
    );
    expectUntouched();
    expect(readFileSync('/proc/sys/kernel/core_pattern', 'utf8')).toBe(core);
  });

  test('mounting, unmounting, device files, new namespaces, chroot', async () => {
    const output = await run(
      'mount -o remount,rw / && echo got-mount; mount --bind / /mnt && echo got-bind; mount -t tmpfs x /mnt && echo got-tmpfs; umount -l / && echo got-umount; umount .git; mknod disk b 8 0 && echo got-device; mknod /dev/shm/disk b 254 0 && head -c1 /dev/shm/disk && echo got-disk; chroot / true && echo got-chroot; nsenter -t 1 -m true && nsenter -t 1 -m sh -c "echo x > ../precious"; unshare -m sh -c "mount -o remount,rw,bind / && echo x > ../precious"; unshare -Urm sh -c "mount -o remount,rw,bind / && echo x > ../precious"; hostname changed && hostname; echo end',
      settings,
    );
    expect(output).not.toMatch(/^got-(mount|umount|device|disk)/m);
    expect(output).toContain('end\n');
    expectUntouched();
    expect(execFileSync('hostname').toString()).not.toContain('changed');
  });

  test('daemons that outlive the call: nohup, setsid, double fork, a wiped environment', async () => {
    const seconds = uniqueSeconds();
    const output = await run(
      `nohup sleep ${seconds} > /dev/null 2>&1 & setsid sleep ${seconds} & (setsid sh -c "(sleep ${seconds} &)" &); setsid env -i sleep ${seconds} & ${node(`require("child_process").spawn("sleep",["${seconds}"],{detached:true,stdio:"ignore",env:{}}).unref()`)}; sleep 0.3; echo end`,
      settings,
    );
    expect(output).toContain('end\n');
    expect(processesWith(seconds)).toEqual([]);
  });

  test('killing, tracing, reading and slowing down processes outside', async () => {
    const seconds = uniqueSeconds();
    const victim = spawn('sleep', [seconds], { stdio: 'ignore', env: { VICTIM_SECRET_KEY: 'of-a-victim' } });
    try {
      const output = await run(
        `kill -9 ${victim.pid}; kill -9 -1; kill -STOP ${process.pid}; renice 19 ${process.pid}; gdb -p ${victim.pid} -batch; strace -p ${victim.pid} & cat /proc/${victim.pid}/environ /proc/${victim.pid}/mem /proc/${process.pid}/environ; grep -a "" /proc/*/environ; ps axeww; echo end`,
        settings,
      );
      expect(output).not.toContain('of-a-victim');
      expect(victim.exitCode ?? victim.signalCode).toBeNull();
      expect(processesWith(`sleep\0${seconds}`)).toEqual([victim.pid]);
    } finally {
      victim.kill();
    }
  });

  test('keys in the environment of the worker', async () => {
    process.env.CADRE_TEST_API_KEY = 'of-the-worker';
    try {
      const output = await run(
        'env; cat /proc/*/environ /proc/*/task/*/environ | tr "\\0" "\\n"; ps axeww; cat /proc/*/cmdline; echo end',
        settings,
        { ONLY: 'this' },
      );
      expect(output).toContain('ONLY=this');
      expect(output).not.toContain('of-the-worker');
    } finally {
      delete process.env.CADRE_TEST_API_KEY;
    }
  });

  test('the network: TCP to this machine and to others, UDP, DNS, raw sockets, a new interface', async () => {
    const { server, visits } = await listening(0);
    const { port } = server.address() as { port: number };
    const output = await run(
      [
        `(echo hi > /dev/tcp/127.0.0.1/${port}) && echo got-tcp`,
        '(echo hi > /dev/tcp/1.1.1.1/53) && echo got-far',
        '(echo hi > /dev/udp/1.1.1.1/53) && echo got-udp',
        node(
          `require("dns").lookup("example.com",(e,a)=>console.log(e?"no-"+e.code:"got-name")); require("dns").resolve4("example.com",(e)=>console.log(e?"no-"+e.code:"got-dns"))`,
        ),
        'getent hosts example.com && echo got-host',
        'ping -c1 -W1 127.0.0.1 > /dev/null 2>&1; ip link set lo up 2>/dev/null; ip link add x type dummy 2>/dev/null && echo got-link',
        'grep -c . /proc/net/dev',
      ].join('; '),
      settings,
    );
    server.close();
    expect(output).not.toMatch(/^got-/m);
    expect(visits()).toBe(0);
    // Two lines of heading and the loopback of its own.
    expect(output.trim().endsWith('3')).toBe(true);
  });

  test('sockets of others by name, without a file', async () => {
    const name = `\0cadre-escape-${process.pid}-${Math.random()}`;
    const { server, visits } = await listening(name);
    const output = await run(
      `${node(`require("net").connect({path:${JSON.stringify(name)}}).on("connect",()=>console.log("reached")).on("error",e=>console.log(e.code))`)}; grep -c cadre-escape /proc/net/unix`,
      settings,
    );
    server.close();
    expect(output).toContain('ECONNREFUSED');
    expect(output.trim().endsWith('0')).toBe(true);
    expect(visits()).toBe(0);
  });

  test('libraries that the environment names are not loaded by what starts the sandbox', async () => {
    const source = `#include <stdio.h>
__attribute__((constructor)) void f(void) { FILE *o = fopen("${outside}/loaded", "w"); if (o) fclose(o); else puts("contained"); }`;
    try {
      execFileSync('cc', ['-shared', '-fPIC', '-x', 'c', '-', '-o', join(work, 'evil.so')], {
        input: source,
      });
    } catch {
      return console.warn('not tried: there is no C compiler');
    }
    const output = await run('true', settings, { LD_PRELOAD: join(work, 'evil.so') });
    expect(output).toContain('contained');
    expect(existsSync(join(outside, 'loaded'))).toBe(false);
  });

  test('typing into the terminal of the person', async () => {
    const tiocsti =
      'import fcntl,termios\nfd=open("/dev/tty","w")\nfcntl.ioctl(fd,termios.TIOCSTI,b"x")\nprint("got-it")';
    const output = await run(
      `python3 -c '${tiocsti}' 2>&1; (echo x > /dev/tty) && echo got-tty; ls /dev/pts; echo end`,
      settings,
    );
    expect(output).not.toContain('got-');
    expect(output).toContain('end\n');
  });

  test('hooks and settings of the repository that the agent works in', async () => {
    execFileSync('git', ['init', '-q'], { cwd: work });
    const config = readFileSync(join(work, '.git', 'config'), 'utf8');
    await run(
      'echo "#!/bin/sh" > .git/hooks/pre-commit; cp .git/hooks/*.sample .git/hooks/post-checkout; git config core.fsmonitor "touch /tmp/x"; git config --file .git/config core.hooksPath /tmp; mv .git .git2; ln .git/config c && echo evil >> c; (cd .git/hooks && echo x > update); GIT_DIR=.git git config alias.x y; true',
      settings,
    );
    expect(readFileSync(join(work, '.git', 'config'), 'utf8')).toBe(config);
    const hooks = readdirSync(join(work, '.git', 'hooks'));
    expect(hooks.filter((name) => !name.endsWith('.sample'))).toEqual([]);
    expect(existsSync(join(work, '.git2'))).toBe(false);
  });
});

describe.skipIf(!state.works)('a file that has a second name inside', () => {
  test('made by somebody else, is written to through it: the sandbox holds names, not files', async () => {
    linkSync(join(outside, 'precious'), join(work, 'hard'));
    await run('echo x > hard', { sandbox_mode: 'workspace-write' });
    expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('x\n');
  });
});

describe.skipIf(!state.works)('what [sandbox] opens', () => {
  const opened = (sandbox: AgentSettings['sandbox'], sandbox_mode: AgentSettings['sandbox_mode']) => ({
    sandbox,
    sandbox_mode,
  });

  test('further folders can be written to, but for what is protected, and not from read-only', async () => {
    const cache = join(outside, 'cache');
    mkdirSync(cache);
    const sandbox = { writable_roots: [cache, join(outside, 'missing')], network: false };
    const command =
      'echo x > ../cache/file; mkdir -p ../cache/.git/hooks ../missing/x; echo x > ../precious; true';
    await run(command, opened(sandbox, 'read-only'));
    expect(readdirSync(cache)).toEqual([]);
    await run(command, opened(sandbox, 'workspace-write'));
    expect(readdirSync(cache)).toEqual(['file']);
    expect(existsSync(join(outside, 'missing'))).toBe(false);
    expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('untouched');
  });

  test('the network, where it is asked for, and not from read-only', async () => {
    const { server, visits } = await listening(0);
    const { port } = server.address() as { port: number };
    const command = `cat < /dev/tcp/127.0.0.1/${port}; cat /etc/resolv.conf > /dev/null && echo names`;
    const sandbox = { writable_roots: [], network: true };
    expect(await run(command, opened(sandbox, 'read-only'))).not.toContain('reached');
    expect(visits()).toBe(0);
    expect(await run(command, opened(sandbox, 'workspace-write'))).toMatch(/reached\nnames/);
    server.close();
  });
});

test('in danger-full-access all of that may be done, but nothing outlives the call, and keys stay out', async () => {
  process.env.CADRE_TEST_API_KEY = 'of-the-worker';
  const seconds = uniqueSeconds();
  const output = await run(
    `echo x > ../precious; env; setsid sleep ${seconds} & nohup sleep ${seconds} & sleep 0.3; echo end`,
    { sandbox_mode: 'danger-full-access' },
  );
  delete process.env.CADRE_TEST_API_KEY;
  expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('x\n');
  expect(output).not.toContain('of-the-worker');
  expect(await eventually(() => processesWith(seconds).length === 0)).toBe(true);
});

test('where no sandbox works, none of it runs by itself', async () => {
  const bare = createShell(async () => ({ works: false, reason: 'none', hint: 'install it' }));
  const context = contextIn(work, {});
  for (const command of [
    'echo x > ../precious',
    'rm ../precious',
    'setsid sleep 1',
    'curl http://127.0.0.1',
    'cat /proc/1/environ > x',
  ]) {
    await expect(bare.run(bare.parameters.parse({ command }), context)).rejects.toMatchObject({
      need: { kind: 'command' },
    });
  }
  expectUntouched();
});
