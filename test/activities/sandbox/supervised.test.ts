import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { runSupervised, type SupervisedCommand } from '../../../activities/sandbox/supervised.ts';
import { watchdog } from '../../../activities/sandbox/watchdog.ts';
import { eventually, processesWith, uniqueSeconds } from './processes.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 });

const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin' };

async function run(script: string, options: Partial<SupervisedCommand> = {}) {
  let output = '';
  const end = await runSupervised({
    argv: ['/bin/sh', '-c', script],
    cwd: '/',
    environment,
    signal: new AbortController().signal,
    timeoutMs: 30_000,
    sandboxed: false,
    onOutput: (chunk) => {
      output += chunk.toString();
    },
    ...options,
  });
  return { ...end, output };
}

test('output and errors come in the order in which they were written', async () => {
  const { output, exitCode } = await run(
    'echo 1; echo 2 >&2; echo 3; echo 4 > /dev/stderr; echo 5 | tee /dev/stderr',
  );
  expect(output).toBe('1\n2\n3\n4\n5\n5\n');
  expect(exitCode).toBe(0);
});

test('exit codes, signals and commands that do not exist are told apart', async () => {
  expect((await run('exit 7')).exitCode).toBe(7);
  expect(await run('kill -SEGV $$')).toMatchObject({ exitCode: 139, signal: 'SIGSEGV' });
  const missing = await run('', { argv: ['/no/such/program'] });
  expect(missing.exitCode).toBe(127);
  expect(missing.output).toContain('/no/such/program');
});

test('a command gets no input, and only the environment it was given', async () => {
  const { output } = await run('cat; env', { environment: { ...environment, GIVEN: 'yes' } });
  const names = output
    .trim()
    .split('\n')
    .map((line) => line.split('=')[0]);
  expect(names).toContain('GIVEN');
  expect(
    names.filter(
      (name) => !['PATH', 'GIVEN', 'CADRE_CALL', 'PWD', 'OLDPWD', 'SHLVL', '_'].includes(name ?? ''),
    ),
  ).toEqual([]);
});

test('100 MB of output pass', async () => {
  let bytes = 0;
  await run('head -c 100000000 /dev/zero', {
    onOutput: (chunk) => {
      bytes += chunk.length;
    },
  });
  expect(bytes).toBe(100_000_000);
});

test('a command over its time is asked to end, then killed with all it started', async () => {
  const seconds = uniqueSeconds();
  const polite = await run(`trap 'echo bye; exit 3' TERM; sleep ${seconds} & wait`, { timeoutMs: 2_000 });
  expect(polite).toMatchObject({ timedOut: true, exitCode: 3, output: 'bye\n' });
  const stubborn = await run(`trap '' TERM; sleep ${seconds}; sleep ${seconds}`, { timeoutMs: 2_000 });
  expect(stubborn).toMatchObject({ timedOut: true, signal: 'SIGKILL' });
  expect(processesWith(seconds)).toEqual([]);
});

test('an abort throws its reason, and by then nothing of the command is left', async () => {
  const seconds = uniqueSeconds();
  const controller = new AbortController();
  const running = run(`trap '' TERM; (setsid sleep ${seconds} &) ; sleep ${seconds}`, {
    signal: controller.signal,
  });
  running.catch(() => {});
  expect(await eventually(() => processesWith(`sleep\0${seconds}`).length === 2)).toBe(true);
  const started = performance.now();
  controller.abort(new Error('interrupted'));
  await expect(running).rejects.toThrow('interrupted');
  expect(processesWith(seconds)).toEqual([]);
  expect(performance.now() - started).toBeLessThan(20_000);
});

test('a signal that is aborted already starts nothing', async () => {
  const signal = AbortSignal.abort(new Error('too late'));
  await expect(run('echo x', { signal })).rejects.toThrow('too late');
});

test('what a command leaves running ends with the call, daemons too', async () => {
  const seconds = uniqueSeconds();
  const { output, exitCode } = await run(
    `sleep ${seconds} & setsid sleep ${seconds} & (setsid sh -c 'sleep ${seconds} & exit' &); echo started; sleep 0.3`,
  );
  expect({ output, exitCode }).toEqual({ output: 'started\n', exitCode: 0 });
  expect(processesWith(seconds)).toEqual([]);
});

test('a command too long for the machine is refused with words', async () => {
  await expect(run('true', { argv: ['/bin/echo', 'x'.repeat(3_000_000)] })).rejects.toMatchObject({
    code: 'tool_failed',
    message: expect.stringContaining('could not be started'),
  });
});

test('a failing reader of the output fails the call and leaves nothing behind', async () => {
  const seconds = uniqueSeconds();
  const failing = run(`echo x; sleep 0.2`, {
    onOutput: () => {
      throw new Error('disk full');
    },
  });
  await expect(failing).rejects.toThrow('disk full');
  expect(processesWith(seconds)).toEqual([]);
});

test('a watchdog that was killed is replaced, and still guards what runs', async () => {
  await run('true');
  await eventually(() => watchdog.pid !== undefined);
  const first = watchdog.pid as number;
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const done = join(watchdog.folder, 'done');
  const running = run(`until [ -e ${done} ]; do sleep 0.1; done; echo end`);
  await new Promise((resolve) => setTimeout(resolve, 300));
  process.kill(first, 'SIGKILL');
  expect(await eventually(() => watchdog.pid !== undefined && watchdog.pid !== first)).toBe(true);
  writeFileSync(done, '');
  expect((await running).output).toBe('end\n');
});

const WORKER = fileURLToPath(new URL('./lonely-worker.ts', import.meta.url));

test.each(['free', 'sandboxed'])('no command outlives its worker, killed with kill -9 (%s)', async (kind) => {
  const seconds = uniqueSeconds();
  const worker = spawn(process.execPath, [WORKER, kind, seconds], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [first] = (await once(worker.stdout, 'data')) as [Buffer];
  if (first.toString().startsWith('skip')) {
    console.warn(`not tried: ${first}`);
    return;
  }
  // The command, a child of it, and a daemon that has left its session.
  expect(await eventually(() => processesWith(`sleep\0${seconds}`).length === 3)).toBe(true);
  worker.kill('SIGKILL');
  expect(await eventually(() => processesWith(seconds).length === 0, 5_000)).toBe(true);
});

test('no command outlives its worker when that is killed at any moment of the start', async () => {
  const seconds = uniqueSeconds();
  for (let delay = 0; delay < 30; delay += 5) {
    const worker = spawn(process.execPath, [WORKER, 'free', seconds, 'announce'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(worker.stdout, 'data');
    await new Promise((resolve) => setTimeout(resolve, delay));
    worker.kill('SIGKILL');
    await once(worker, 'exit');
  }
  expect(await eventually(() => processesWith(seconds).length === 0, 5_000)).toBe(true);
}, 60_000);
