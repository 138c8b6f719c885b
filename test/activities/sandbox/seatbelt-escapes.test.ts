import { execFileSync, spawn } from 'node:child_process';
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
import { createServer, type Server } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { detectSandbox } from '../../../activities/sandbox/detect-sandbox.ts';
import { shell } from '../../../activities/tools/shell.ts';
import type { AgentSettings } from '../../../protocol/index.ts';
import { contextIn } from '../tools/tool-context.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const isMac = process.platform === 'darwin';
const NAMES = ['.agents', '.cadre', '.claude', '.codex', '.git'];

// Not a temporary folder, which workspace-write may write to.
let outside: string;
let work: string;
beforeEach(() => {
  outside = mkdtempSync(join(realpathSync(homedir()), '.cadre-seatbelt-'));
  work = join(outside, 'work');
  mkdirSync(work);
  writeFileSync(join(outside, 'precious'), 'untouched');
});
afterEach(() => rmSync(outside, { recursive: true, force: true }));

async function run(
  command: string,
  settings: Partial<AgentSettings> = {},
  environment = {},
  folder = work,
): Promise<string> {
  const result = await shell.run(shell.parameters.parse({ command, timeout_ms: 60_000 }), {
    ...contextIn(folder, { settings }),
    stateDir: join(outside, 'state'),
    environment: { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: outside, ...environment },
  });
  return typeof result === 'string' ? result : result.output;
}

function expectUntouched(): void {
  expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('untouched');
  const left = readdirSync(outside).filter((name) => name !== 'state');
  expect(left.toSorted()).toEqual(['precious', 'work']);
}

async function listening(at: string | number): Promise<{ server: Server; visits: () => number }> {
  let visits = 0;
  const server = createServer((socket) => {
    visits += 1;
    socket.end('reached\n');
  });
  await new Promise<void>((resolve) => {
    if (typeof at === 'number') server.listen(at, '127.0.0.1', () => resolve());
    else server.listen({ path: at }, () => resolve());
  });
  return { server, visits: () => visits };
}

describe.skipIf(!isMac)('with the real sandbox-exec, which there is on macOS alone', () => {
  test('it works here', async () => {
    expect(await detectSandbox()).toMatchObject({ works: true });
  });

  describe.each(['read-only', 'workspace-write'] as const)('tried from %s', (sandbox_mode) => {
    test('writing, moving, removing and changing rights outside, also through links', async () => {
      symlinkSync('../precious', join(work, 'link'));
      symlinkSync('..', join(work, 'up'));
      const output = await run(
        'echo x > ../precious; rm -f ../precious; mv ../precious here; chmod 000 ../precious; touch ../new; echo x > link; echo x > up/precious; ln -s ../precious own; echo x > own; ln ../precious hard && echo x > hard; mv ../work ../moved; rmdir ../work; echo end',
        { sandbox_mode },
      );
      expect(output).toContain('end\n');
      expectUntouched();
    });

    test('signals to, and the environment of, processes outside', async () => {
      const victim = spawn('/bin/sleep', ['60'], { stdio: 'ignore', env: { KEY: 'of-a-victim' } });
      const output = await run(
        `kill -9 ${victim.pid}; kill -STOP ${process.pid}; ps -Eww -p ${victim.pid}; sysctl kern.procargs2.${victim.pid}; python3 -c 'import ctypes,ctypes.util as u; c=ctypes.CDLL(u.find_library("c")); m=(ctypes.c_int*3)(1,49,${process.pid}); n=ctypes.c_size_t(65536); b=ctypes.create_string_buffer(65536); print(c.sysctl(m,3,b,ctypes.byref(n),None,0), b.raw[:n.value])'; echo end`,
        { sandbox_mode },
      );
      expect(output).toContain('end\n');
      expect(output).not.toContain('of-a-victim');
      expect(output).not.toContain('PATH=');
      expect(victim.exitCode ?? victim.signalCode).toBeNull();
      victim.kill();
    });

    test('the network, names of machines, and sockets of others', async () => {
      const tcp = await listening(0);
      const folder = mkdtempSync('/private/tmp/cadre-socket-');
      const unix = await listening(join(folder, 's'));
      const { port } = tcp.server.address() as { port: number };
      const output = await run(
        `(echo hi > /dev/tcp/127.0.0.1/${port}) && echo got-tcp; (echo hi > /dev/udp/1.1.1.1/53) && echo got-udp; nc -U ${folder}/s < /dev/null; dscacheutil -q host -a name example.com | grep -q ip_address && echo got-name; echo end`,
        { sandbox_mode },
      );
      for (const { server } of [tcp, unix]) server.close();
      rmSync(folder, { recursive: true });
      expect(output).toContain('end\n');
      expect(output).not.toMatch(/got-|reached/);
      expect([tcp.visits(), unix.visits()]).toEqual([0, 0]);
    });

    test('having others work for it: scripts of applications, the launcher of services, at', async () => {
      const output = await run(
        `osascript -e 'do shell script "touch ${outside}/new"'; launchctl submit -l cadre.test -- /usr/bin/touch ${outside}/new; (echo "touch ${outside}/new" | at now); sleep 2; echo end`,
        { sandbox_mode },
      );
      expect(output).toContain('end\n');
      expectUntouched();
    });

    test('what ordinary work needs is there', async () => {
      const output = await run(
        'f="$TMPDIR/x"; echo kept > "$f" && cat "$f"; echo x > /dev/null && echo null; echo err > /dev/stderr; id -un; git --version; sleep 5 & kill $! && echo signalled',
        { sandbox_mode },
        { TMPDIR: '/tmp' },
      );
      for (const word of ['kept', 'null', 'err', 'git version', 'signalled']) expect(output).toContain(word);
    });
  });

  test('programs that ask the system for the folder of temporary files can use it in workspace-write', async () => {
    expect(await run('f=$(mktemp) && echo kept > "$f" && cat "$f"; rm "$f"')).toContain('kept\n');
  });

  test('what is protected can be neither changed, made, moved nor replaced, in capitals neither', async () => {
    execFileSync('git', ['init', '-q'], { cwd: work });
    const config = readFileSync(join(work, '.git', 'config'), 'utf8');
    const tries = NAMES.flatMap((name) => [name, name.toUpperCase()]).map(
      (name) =>
        `mkdir -p ${name}/hooks; echo x > ${name}/hooks/pre-commit; echo x >> ${name}/config; mv ${name} gone; rm -rf ${name}; ln -s . ${name}; ln ${name}/config c && echo x >> c; echo x > ${name}`,
    );
    const output = await run(`${tries.join('; ')}; echo y > ordinary; echo end`);
    expect(output).toContain('end\n');
    expect(readdirSync(work).toSorted()).toEqual(['.git', 'ordinary']);
    expect(readFileSync(join(work, '.git', 'config'), 'utf8')).toBe(config);
    expect(existsSync(join(work, '.git', 'hooks', 'pre-commit'))).toBe(false);
  });

  test('nor in a folder of a temporary one, by moving that away', async () => {
    const top = mkdtempSync('/private/tmp/cadre-seatbelt-');
    await run(`mv ${top} ${top}-2; mkdir -p ${top}-2/.git/hooks; mv ${top}-2 ${top}; true`, {}, {}, top);
    expect(readdirSync(top)).toEqual([]);
    rmSync(top, { recursive: true });
  });

  test('what [sandbox] opens is open in workspace-write alone', async () => {
    const cache = join(outside, 'cache');
    mkdirSync(cache);
    const { server, visits } = await listening(0);
    const { port } = server.address() as { port: number };
    const command = `echo x > ../cache/file; mkdir ../cache/.git; cat < /dev/tcp/127.0.0.1/${port}`;
    const sandbox = { writable_roots: [cache], network: true };
    expect(await run(command, { sandbox, sandbox_mode: 'read-only' })).not.toContain('reached');
    expect(readdirSync(cache)).toEqual([]);
    expect(await run(command, { sandbox, sandbox_mode: 'workspace-write' })).toContain('reached');
    expect(readdirSync(cache)).toEqual(['file']);
    expect(visits()).toBe(1);
    server.close();
  });
});
