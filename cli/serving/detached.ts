import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { environmentWithoutOpened } from '../opened-by-shell.ts';

const MAIN = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../main.ts' : '../main.js', import.meta.url),
);

/**
 * Starts `cadre` once more, as a process of its own that outlives this one and writes to a log.
 *
 * @param log a file that only this person reads; `a` adds to it, `w` begins it anew
 * @param cwd default: where this process is
 */
export function startDetached(
  args: readonly string[],
  log: { path: string; flags: 'a' | 'w' },
  cwd?: string,
): ChildProcess {
  const output = openSync(log.path, log.flags, 0o600);
  try {
    const child = spawn(process.execPath, [...process.execArgv, MAIN, ...args, '--color', 'never'], {
      ...(cwd === undefined ? {} : { cwd }),
      env: environmentWithoutOpened(process.env),
      detached: true,
      stdio: ['ignore', output, output],
    });
    child.unref();
    return child;
  } finally {
    closeSync(output);
  }
}
