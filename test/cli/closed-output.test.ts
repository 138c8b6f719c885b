import { spawn } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { commandLine, environmentIn, MAIN } from './run-cadre.ts';

/** Runs a command in a pipeline whose reader has gone at once, as a script with `pipefail` sees it. */
function unread(folder: string, args: readonly string[]): Promise<number | null> {
  const pipeline = 'set -o pipefail; "$0" "$@" 2>&1 | exec true';
  const child = spawn('bash', ['-c', pipeline, process.execPath, MAIN, ...args], {
    cwd: folder,
    env: environmentIn(folder),
    stdio: 'ignore',
    detached: true,
  });
  onTestFinished(() => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  });
  return new Promise((resolve) => child.once('exit', resolve));
}

test.each([[['config']], [['agents', 'show', 'default', '--json']], [['--help']], [['status', 'nobody']]])(
  '%j ends as any program of a pipeline does whose reader has gone: with 141',
  async (args) => {
    const { folder } = commandLine();
    expect(await unread(folder, args)).toBe(141);
  },
);

test('a worker that nobody reads any more stops, and ends with 141 as well', async () => {
  const { folder, cadre } = commandLine();
  expect((await cadre(['server', 'start'])).code).toBe(0);
  expect(await unread(folder, ['worker'])).toBe(141);
  expect(await unread(folder, ['worker', '--queue', 'some-queue'])).toBe(141);
}, 120_000);
