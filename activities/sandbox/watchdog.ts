import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { Writable } from 'node:stream';
import { PIPES_PREFIX, placeForPipes } from './pipes-folder.ts';
import { MARK_NAME } from './strays.ts';
import { withoutTerminals } from './terminal.ts';

/**
 * Reads `+ group mark` and `- group mark` until its input closes, which is when the worker is gone, however it went.
 * Then it kills what is still listed, and removes the folder given as its argument.
 */
const SCRIPT = `
live=' '
while read -r change group mark; do
  case $change in
    +) live="$live$group:$mark " ;;
    -) rest=' '
       for entry in $live; do [ "$entry" = "$group:$mark" ] || rest="$rest$entry "; done
       live=$rest ;;
  esac
done
for entry in $live; do
  kill -KILL -- "-\${entry%%:*}"
  for environ in $(grep -lsF "${MARK_NAME}=\${entry#*:}" /proc/[0-9]*/environ); do
    process=\${environ#/proc/}
    kill -KILL "\${process%/environ}"
  done
done
rm -rf -- "$1"
`;

/** One that lived shorter than this is not started again at once. */
const RESTART_MS = 1_000;

/** A small process beside the worker that ends the worker's commands should the worker be killed. */
class Watchdog {
  readonly #guarded = new Map<number, string>();
  #process: ChildProcess | undefined;
  #folder: string | undefined;

  /** A private folder that is removed when the worker ends. */
  get folder(): string {
    if (this.#folder === undefined || !existsSync(this.#folder)) {
      const folder = join(placeForPipes(), `${PIPES_PREFIX}${randomUUID()}`);
      this.#folder = folder;
      // Started first: whenever the worker is killed from here on, the folder goes.
      if (this.#process === undefined) this.#start(folder);
      mkdirSync(folder, { mode: 0o700 });
    }
    return this.#folder;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** From when this resolves, the process group dies with the worker. */
  async guard(group: number, mark: string): Promise<void> {
    this.#guarded.set(group, mark);
    const { folder } = this;
    if (this.#process === undefined) this.#start(folder);
    await this.#say('+', group, mark);
  }

  release(group: number, mark: string): void {
    this.#guarded.delete(group);
    void this.#say('-', group, mark);
  }

  #start(folder: string): void {
    const child = spawn('/bin/sh', ['-c', SCRIPT, 'cadre-watchdog', folder], {
      cwd: '/',
      detached: true,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
      stdio: ['pipe', 'ignore', 'ignore', ...withoutTerminals(3)],
    });
    this.#process = child;
    const started = performance.now();
    const gone = () => {
      if (this.#process !== child) return;
      this.#process = undefined;
      // One that cannot live is tried again with the next command, not in a loop.
      if (this.#guarded.size > 0 && performance.now() - started > RESTART_MS) this.#start(folder);
    };
    child.on('error', gone);
    child.on('exit', gone);
    child.stdin?.on('error', () => {});
    child.unref();
    (child.stdin as Writable & { unref?(): void }).unref?.();
    for (const [group, mark] of this.#guarded) void this.#say('+', group, mark);
  }

  #say(change: '+' | '-', group: number, mark: string): Promise<void> {
    const input = this.#process?.stdin;
    return new Promise((resolve) => {
      if (input) input.write(`${change} ${group} ${mark}\n`, () => resolve());
      else resolve();
    });
  }
}

/** The one of this process. */
export const watchdog = new Watchdog();
