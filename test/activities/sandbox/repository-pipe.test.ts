import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { probeBubblewrap } from '../../../activities/sandbox/probe-bubblewrap.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const WORKER = fileURLToPath(new URL('./pipe-for-a-file.ts', import.meta.url));
const state = await probeBubblewrap();

let folder: string;
beforeEach(() => {
  folder = mkdtempSync('/var/tmp/cadre-pipe-');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** In a process of its own: one that waits for a pipe is not to be talked to. */
function runIn(command: string, policy: string): string {
  const args = [WORKER, folder, command, policy];
  return spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000, killSignal: 'SIGKILL' })
    .stdout;
}

test.runIf(state.works)('a pipe in the place of .git does not hold up the worker', () => {
  execFileSync('/bin/sh', ['-c', 'mkfifo "$1"', 'sh', join(folder, '.git')]);
  expect(runIn('echo through', 'on-request')).toContain('through');
});

test("nor does one in the place of a repository's settings, which then count as risky", () => {
  for (const name of ['objects', 'refs']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'HEAD'), 'ref: refs/heads/main\n');
  execFileSync('/bin/sh', ['-c', 'mkfifo "$1"', 'sh', join(folder, 'config')]);
  expect(runIn('git status', 'untrusted')).toMatch(/approv|allow/);
});
