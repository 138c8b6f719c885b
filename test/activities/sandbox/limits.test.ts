import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { probeBubblewrap } from '../../../activities/sandbox/probe-bubblewrap.ts';
import { limitedArgv } from '../../../activities/sandbox/process-limits.ts';
import { shell } from '../../../activities/tools/shell.ts';
import type { SandboxMode } from '../../../protocol/index.ts';
import { contextIn } from '../tools/tool-context.ts';
import { eventually, processesWith } from './processes.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const state = await probeBubblewrap();
const contained = (['read-only', 'workspace-write'] as const).filter(() => state.works);
const isLinux = process.platform === 'linux';

let work: string;
beforeEach(() => {
  work = mkdtempSync('/var/tmp/cadre-limits-');
});
afterEach(() => rmSync(work, { recursive: true, force: true }));

async function run(command: string, sandbox_mode: SandboxMode, timeout_ms = 60_000) {
  const result = await shell.run(
    shell.parameters.parse({ command, timeout_ms }),
    contextIn(work, { settings: { sandbox_mode } }),
  );
  if (typeof result === 'string') throw new Error(result);
  return result;
}

/** The longest time in ms for which this process could do nothing else, such as heartbeats, during the work. */
async function longestPause(work: () => Promise<unknown>): Promise<number> {
  let last = performance.now();
  let longest = 0;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 20);
  await work();
  look();
  clearInterval(timer);
  return longest;
}

let counter = 0;
function uniqueName(): string {
  counter += 1;
  return `bomb_${process.pid}_${counter}`;
}

const TOO_MANY =
  /^stopped, since it had \d+ processes with \d+ threads at once, and 1024 and 4096 is the most \(exit code 137/;

// The bombs of these tests grow by one, so that they take nothing from the tests beside them before they are ended.
test.skipIf(!isLinux).each([...contained, 'danger-full-access'] as const)(
  'a command that starts processes without end is ended with all of them, and said to the model (%s)',
  async (mode) => {
    const name = uniqueName();
    const pause = await longestPause(async () => {
      const { output, success } = await run(
        `: ${name}; for i in $(seq 1 3000); do sleep 50 & done; wait`,
        mode,
      );
      expect(output).toMatch(TOO_MANY);
      expect(success).toBe(false);
    });
    expect(await eventually(() => processesWith(name).length === 0)).toBe(true);
    expect(pause).toBeLessThan(30_000);
    expect((await run('echo alive', mode)).output).toContain('alive');
  },
);

test.skipIf(!state.works)('a fork bomb is ended, too', async () => {
  const name = uniqueName();
  const { output } = await run(`${name}() { ${name} | ${name} & }; ${name}; sleep 50`, 'workspace-write');
  expect(output).toMatch(TOO_MANY);
  expect(await eventually(() => processesWith(name).length === 0)).toBe(true);
});

test.skipIf(!state.works)('so is one whose processes leave their sessions and ignore signals', async () => {
  const name = uniqueName();
  const bomb = `trap "" TERM INT HUP; ${name}() { setsid bash -c "$(declare -f ${name}); ${name} & ${name}; sleep 50" & }; ${name}; sleep 50`;
  expect((await run(bomb, 'workspace-write')).output).toMatch(/^stopped, since it had \d+ processes/);
  expect(await eventually(() => processesWith(name).length === 0)).toBe(true);
});

test.skipIf(!state.works)('threads without end are ended, or refused by the kernel', async () => {
  const script = `
    import threading, time
    for i in range(20000): threading.Thread(target=time.sleep, args=(50,), daemon=True).start()
    time.sleep(50)`.replaceAll(/^ {4}/gm, '');
  const python = execFileSync('sh', ['-c', 'command -v python3 || true']).toString().trim();
  if (python === '') return console.warn('not tried: there is no python3');
  const { output } = await run(`${python} -c '${script}'`, 'workspace-write');
  expect(output).toMatch(/^stopped, since it had \d+ processes with \d{4,} threads|can't start new thread/);
});

test.skipIf(!state.works)('many processes, but not too many, run to their end', async () => {
  const { output } = await run('for i in $(seq 800); do sleep 3 & done; wait; echo all', 'workspace-write');
  expect(output).toMatch(/^exit code 0, .*\nall\n$/);
});

test.each([...contained, 'danger-full-access'] as const)(
  '1 GB of output takes bounded memory, and what is kept of it is told (%s)',
  async (mode) => {
    const before = process.memoryUsage().rss;
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss - before);
    }, 50);
    const { output, handle } = await run('head -c 1000000000 /dev/zero', mode);
    clearInterval(timer);
    expect(output).toMatch(/^exit code 0/);
    expect(output).toContain(`${handle}`);
    expect(output.length).toBeLessThan(50_000);
    expect(most).toBeLessThan(300_000_000);
  },
);

describe.each(contained)('the kernel holds each process of a command (%s)', (mode) => {
  test('to files of 16 GiB at most', async () => {
    const { output } = await run(
      `cd "$(mktemp -d)"; truncate -s 16G a && ls; truncate -s 17G b; ulimit -f`,
      mode,
    );
    expect(output).toContain('\na\n');
    expect(output).toMatch(/File size limit exceeded|File too large/);
    expect(output).toContain('16777216');
  });

  test('to no core dumps, and to be the first to go when memory runs out', async () => {
    const { output } = await run(
      'ulimit -c; cat /proc/self/oom_score_adj; ulimit -H -c unlimited; ulimit -H -c',
      mode,
    );
    expect(output).toMatch(/\n0\n900\n/);
    expect(output.endsWith('\n0\n')).toBe(true);
    expect(readdirSync(work)).toEqual(['.state'].filter((name) => readdirSync(work).includes(name)));
  });
});

test('the number of processes is held by the kernel only where it counts them by namespace', () => {
  const withOwn = limitedArgv(['true'], ['--unshare-user']);
  const asRoot = limitedArgv(['true'], ['--cap-drop', 'ALL']);
  expect(asRoot.join(' ')).not.toContain('ulimit -u');
  if (isLinux) expect(withOwn.join(' ')).toContain('ulimit -u 4096');
  const [program = '', ...args] = limitedArgv(['echo', 'a  b', '$HOME'], ['--unshare-user']);
  expect(execFileSync(program, args).toString()).toBe('a  b $HOME\n');
});
