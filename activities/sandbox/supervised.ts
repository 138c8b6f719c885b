import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { constants as osConstants } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { CadreError } from '../../protocol/index.ts';
import { inSystemWords } from '../system-reason.ts';
import { limitNamespace } from './namespace-limit.ts';
import { NamespaceReport } from './namespace-report.ts';
import { type ProcessCount, watchProcesses } from './process-count.ts';
import { SandboxFailure } from './sandbox-failure.ts';
import { isForLoader } from './sandboxed-command.ts';
import { isAlive, killQuietly, killStrays, MARK_NAME, type StrayQuery } from './strays.ts';
import { openPipe, SupervisedOutput, screenOf } from './supervised-output.ts';
import { type Terminal, withoutTerminals } from './terminal.ts';
import { watchdog } from './watchdog.ts';

export interface SupervisedCommand {
  argv: readonly string[];
  cwd: string;
  environment: Readonly<Record<string, string>>;
  /** Aborting it ends the command with all it started. */
  signal: AbortSignal;
  /** Default: as long as it takes. */
  timeoutMs?: number;
  /** Its input and output; default: no input, and a pipe for the output. It is closed when the command has ended. */
  terminal?: Terminal | undefined;
  /** `argv` starts a sandbox. */
  sandboxed: boolean;
  /** `argv` starts bubblewrap with `--json-status-fd 3`: then its inner process is signalled and waited for. */
  hasNamespace?: boolean;
  /** Output and errors in the order in which they were written; the command waits while this works. */
  onOutput(chunk: Buffer): Promise<void> | void;
  /** Told once the command has leave to start; the signals sent by that reach all of it that is in its group. */
  onStart?(send: (signal: NodeJS.Signals) => void): void;
}

export interface SupervisedEnd {
  /** 128 and the number of the signal for a command that a signal ended; 127: not found. */
  exitCode: number;
  signal?: NodeJS.Signals;
  timedOut: boolean;
  /** It was ended because it had too many processes or threads at once: so many. */
  tooMany?: ProcessCount;
  durationMs: number;
}

const SHELL = '/bin/sh';
/** How long a command may take to end by itself once it is told to. */
const GRACE_MS = 500;
/** How long to wait until what was killed is gone. */
const GONE_MS = 3_000;
/** What bubblewrap ends with where it has not come to starting anything; a command may end with that, too. */
const SETUP_FAILED = 1;
/** How long to wait for the rest of what bubblewrap reports, which is there when it has ended. */
const REPORT_MS = 3_000;

/**
 * Makes the pipe for the output, then waits for leave to start; a worker that died meanwhile never gives it. When
 * memory runs out, the kernel is to end what the command has started, and not the worker.
 * The output is a real pipe because Node would give a socket, on which `> /dev/stderr` fails. A terminal is opened by the
 * leader of the session, which makes it the one that controls it.
 */
const GATE = `
case $3 in pipe) PATH=/usr/bin:/bin:/run/current-system/sw/bin mkfifo -m 600 "$1" || exit 125 ;; esac
printf r >&3 && read -r leave <&3 || exit 125
{ echo 900 > /proc/self/oom_score_adj; } 2>/dev/null
out=$1 reports=$2 kind=$3
shift 3
case $kind in
  pipe) exec >"$out" 2>&1 ;;
  terminal) exec <>"$out" >&0 2>&1 ;;
esac
if [ "$reports" = 1 ]; then exec "$@"; else exec "$@" 3<&-; fi
`;

/**
 * Runs a command in a session of its own. When this returns, nothing that the command started runs any more; the
 * same holds soon after the worker was killed.
 *
 * @throws the reason of `signal` when it aborts, a CadreError when the command cannot be started, a SandboxFailure when what
 *   was to contain it could not be set up
 */
export async function runSupervised(command: SupervisedCommand): Promise<SupervisedEnd> {
  command.signal.throwIfAborted();
  const started = performance.now();
  const mark = randomUUID();
  const pipePath = command.terminal?.path ?? join(watchdog.folder, mark);
  const child = startGate(command, pipePath, mark);
  const ended = endOf(child);
  ended.catch(() => {});
  const group = child.pid;
  if (group === undefined) throw cannotStart(await ended.then(String, (error: Error) => error), command.cwd);
  const run = new Run(command, group, mark, child.stdio[3] as Duplex);
  try {
    run.watchTime();
    const output = await run.start(pipePath, ended);
    const { code, signal } = await ended;
    const durationMs = performance.now() - started;
    await run.killRest();
    await output.finish({ isRead: !command.signal.aborted });
    command.signal.throwIfAborted();
    if (code === SETUP_FAILED && !run.wasEnded && !(await run.hasRun()))
      throw new SandboxFailure(output.beginning);
    const exitCode = code ?? 128 + osConstants.signals[signal ?? 'SIGKILL'];
    return {
      exitCode,
      ...(signal === null ? {} : { signal }),
      timedOut: run.timedOut,
      ...(run.tooMany === undefined ? {} : { tooMany: run.tooMany }),
      durationMs,
    };
  } finally {
    run.stopWatching();
    await run.killRest();
    watchdog.release(group, mark);
    command.terminal?.close();
    if (command.terminal === undefined) await rm(pipePath, { force: true });
  }
}

function startGate(command: SupervisedCommand, pipePath: string, mark: string): ChildProcess {
  const kind = command.terminal === undefined ? 'pipe' : 'terminal';
  const args = ['-c', GATE, 'sh', pipePath, command.hasNamespace ? '1' : '0', kind, ...command.argv];
  try {
    return spawn(SHELL, args, {
      cwd: command.cwd,
      detached: true,
      env: { ...outerEnvironment(command), [MARK_NAME]: mark },
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', ...withoutTerminals(4)],
    });
  } catch (error) {
    throw cannotStart(error, command.cwd);
  }
}

function outerEnvironment({ environment, sandboxed }: SupervisedCommand): Record<string, string> {
  const entries = Object.entries(environment).filter(([name]) => !sandboxed || !isForLoader(name));
  return Object.fromEntries(entries);
}

type ChildEnd = { code: number | null; signal: NodeJS.Signals | null };

function endOf(child: ChildProcess): Promise<ChildEnd> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

/** One command while it runs: what may end it, and how all of it ends. */
class Run {
  timedOut = false;
  tooMany: ProcessCount | undefined;
  readonly #command: SupervisedCommand;
  readonly #group: number;
  readonly #mark: string;
  readonly #gate: Duplex;
  readonly #started = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #killTimer: NodeJS.Timeout | undefined;
  #stopCounting: (() => void) | undefined;
  readonly #report = new NamespaceReport();
  #isOver = false;

  constructor(command: SupervisedCommand, group: number, mark: string, gate: Duplex) {
    this.#command = command;
    this.#group = group;
    this.#mark = mark;
    this.#gate = gate;
    gate.on('error', () => {});
  }

  watchTime(): void {
    this.#command.signal.addEventListener('abort', this.#stop, { once: true });
    if (this.#command.timeoutMs === undefined) return;
    this.#timer = setTimeout(() => {
      this.timedOut = true;
      this.#stop();
    }, this.#command.timeoutMs);
  }

  /** By us: nobody knows how far it was. */
  get wasEnded(): boolean {
    return this.timedOut || this.tooMany !== undefined;
  }

  /** Whether the command was begun at all; without a namespace, starting it is all there is. */
  async hasRun(): Promise<boolean> {
    if (!this.#command.hasNamespace || this.#report.hasRun) return true;
    // What was told last may still be on its way.
    const late = AbortSignal.timeout(REPORT_MS);
    if (!this.#gate.closed) await once(this.#gate, 'close', { signal: late }).catch(() => {});
    return this.#report.hasRun;
  }

  stopWatching(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#killTimer);
    this.#stopCounting?.();
    this.#command.signal.removeEventListener('abort', this.#stop);
  }

  /** Opens the pipe, has the watchdog guard the group, and only then lets the command begin. */
  async start(pipePath: string, ended: Promise<ChildEnd>): Promise<SupervisedOutput> {
    const ready = await Promise.race([once(this.#gate, 'data'), ended]);
    if (!Array.isArray(ready)) throw cannotStart(`its gate ended early (${ready.code ?? ready.signal})`);
    const { terminal } = this.#command;
    const { stream, opened } = terminal === undefined ? openPipe(pipePath) : screenOf(terminal);
    const output = new SupervisedOutput(stream, this.#command.onOutput);
    this.#gate.on('data', (chunk: Buffer) => {
      const wasKnown = this.#innerPid !== undefined;
      this.#report.add(chunk);
      if (wasKnown || this.#innerPid === undefined) return;
      limitNamespace(this.#innerPid);
      opened();
    });
    this.#gate.once('close', opened);
    await watchdog.guard(this.#group, this.#mark);
    this.#gate.write('go\n');
    if (process.platform === 'linux') this.#countProcesses();
    this.#command.onStart?.((signal) => this.#send(signal));
    return output;
  }

  #countProcesses(): void {
    const top = () => (this.#command.hasNamespace ? this.#innerPid : this.#group);
    this.#stopCounting = watchProcesses(top, (count) => {
      this.tooMany = count;
      const inner = this.#innerPid;
      if (this.#command.hasNamespace && inner !== undefined) killQuietly(inner, 'SIGKILL');
      else killQuietly(-this.#group, 'SIGKILL');
    });
  }

  readonly #stop = (): void => {
    this.#send('SIGTERM');
    this.#killTimer = setTimeout(() => killQuietly(-this.#group, 'SIGKILL'), GRACE_MS);
  };

  /** In a sandbox with a terminal, all is in one group: what is outside ends at once, and with it what is inside. */
  #send(signal: NodeJS.Signals): void {
    const inner = this.#innerPid;
    if (!this.#command.hasNamespace || this.#command.terminal !== undefined)
      killQuietly(-this.#group, signal);
    else if (inner !== undefined) killQuietly(-inner, signal);
  }

  get #innerPid(): number | undefined {
    return this.#report.innerPid;
  }

  get #strays(): StrayQuery {
    const durationMs = performance.now() - this.#started;
    return { mark: this.#mark, leader: this.#group, durationMs };
  }

  async killRest(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    killQuietly(-this.#group, 'SIGKILL');
    const inner = this.#innerPid;
    if (!this.#command.hasNamespace) await killStrays(this.#strays);
    else if (inner !== undefined) await untilGone(inner);
  }
}

async function untilGone(pid: number): Promise<void> {
  killQuietly(pid, 'SIGKILL');
  for (let waited = 0; waited < GONE_MS && (await isAlive(pid)); waited += 5) await sleep(5);
}

/** @param cwd where it was to start: where that has gone, the system says that the program is missing */
function cannotStart(why: unknown, cwd?: string): CadreError {
  const message = why instanceof Error ? why.message : String(why);
  const isGone = cwd !== undefined && message.includes('ENOENT') && existsSync(SHELL);
  const reason = isGone ? `the folder ${cwd} has gone meanwhile` : (inSystemWords(why) ?? message);
  const hint = message.includes('E2BIG')
    ? 'The command or the environment is too long: write the long part to a file first.'
    : undefined;
  return new CadreError('tool_failed', `The command could not be started: ${reason}`, {
    ...(hint === undefined ? {} : { hint }),
    cause: why,
  });
}
