import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
export const SCRIPTS = fileURLToPath(new URL('./scripts', import.meta.url));

/** The options of a command whose model is played by a script. */
export function playing(script: string): string[] {
  return ['-c', 'model_provider=script', '-c', `model_providers.script.script="${join(SCRIPTS, script)}"`];
}

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A command that runs; `ended` settles when it has. */
export interface Running {
  child: ChildProcess;
  ended: Promise<Ended>;
  /** What it has written to stderr so far. */
  stderr(): string;
  stdout(): string;
  /** Presses keys on its terminal. */
  type(keys: string): void;
  /** Resolves when stderr matches. */
  says(pattern: RegExp, timeoutMs?: number): Promise<RegExpMatchArray>;
}

export interface RunOptions {
  env?: Record<string, string>;
  cwd?: string;
  input?: string;
  /** A command line that runs what follows it, such as `sh -c 'exec "$0" "$@"'`. */
  through?: string[];
  /** It has a terminal of its own: `input` is what is typed first, and more may be typed. */
  terminal?: boolean;
  /** Its standard input stays open after `input`; `type` writes more of it. */
  open?: boolean;
  /** Another Cadre than the one that was built last: the path of its `main.js`. */
  main?: string;
}

/** A person's machine in small: an empty HOME, a CADRE_HOME and a working folder of its own. */
export class CadreHome {
  readonly root = mkdtempSync(join(tmpdir(), 'cadre-e2e-'));
  readonly home = join(this.root, 'home');
  readonly folder = join(this.root, 'work');
  readonly #environment: Record<string, string>;

  constructor(environment: Record<string, string> = {}) {
    this.#environment = environment;
  }

  /** A folder to work in, another one each time: a test that is tried again finds nothing of its first try. */
  newFolder(name: string): string {
    mkdirSync(this.folder, { recursive: true });
    return mkdtempSync(join(this.folder, `${name}-`));
  }

  env(extra: Record<string, string> = {}): Record<string, string> {
    return {
      PATH: process.env.PATH ?? '',
      HOME: this.root,
      CADRE_HOME: this.home,
      // Fetched once for all: the embedded server's program is 150 MB.
      ...(process.env.CADRE_CACHE === undefined ? {} : { CADRE_CACHE: process.env.CADRE_CACHE }),
      ...(process.env.XDG_CACHE_HOME === undefined ? {} : { XDG_CACHE_HOME: process.env.XDG_CACHE_HOME }),
      ...this.#environment,
      ...extra,
    };
  }

  start(args: string[], options: RunOptions = {}): Running {
    const command = [...(options.through ?? []), process.execPath, options.main ?? MAIN, ...args];
    const [program = '', ...words] = options.terminal === true ? onTerminal(command) : command;
    const child = spawn(program, words, {
      cwd: options.cwd ?? this.root,
      env: this.env(options.env),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.stdin.on('error', () => {});
    if (options.terminal === true || options.open === true) child.stdin.write(options.input ?? '');
    else child.stdin.end(options.input ?? '');
    const ended = new Promise<Ended>((resolve) => {
      child.once('close', (code) => resolve({ code, stdout, stderr }));
    });
    return {
      child,
      ended,
      stderr: () => stderr,
      stdout: () => stdout,
      type: (keys) => void child.stdin.write(keys),
      async says(pattern, timeoutMs = 60_000) {
        for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(20)) {
          const match = stderr.match(pattern) ?? stdout.match(pattern);
          if (match !== null) return match;
        }
        throw new Error(`not said in ${timeoutMs} ms: ${pattern}\nstdout: ${stdout}\nstderr: ${stderr}`);
      },
    };
  }

  run(args: string[], options: RunOptions = {}): Promise<Ended> {
    return this.start(args, options).ended;
  }

  /** Runs a command with --json and yields what it printed. */
  async json<T>(args: string[], options: RunOptions = {}): Promise<T> {
    const { stdout, stderr, code } = await this.run([...args, '--json'], options);
    try {
      return JSON.parse(stdout) as T;
    } catch {
      throw new Error(`cadre ${args.join(' ')} printed no JSON (exit ${code})\n${stdout}\n${stderr}`);
    }
  }

  /** Every process of this home, told by its environment: commands, workers, the server. */
  pids(): number[] {
    const mark = `CADRE_HOME=${this.home}`;
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(mark);
        } catch {
          return false;
        }
      });
  }

  /** The same without the codec server, which comes and goes with the server. */
  pidsBesideCodec(): number[] {
    return this.pids().filter((pid) => !commandLineOf(pid).includes('codec-server'));
  }

  /** kill -9, all at once. */
  killAll(pids = this.pids()): void {
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
  }

  /** @param keep a folder that what was there is moved into, for whoever looks into a failure */
  async remove(keep?: string): Promise<void> {
    this.killAll();
    for (let tries = 0; this.pids().length > 0 && tries < 100; tries++) await sleep(50);
    if (keep !== undefined) cpSync(this.root, join(keep, basename(this.root)), { recursive: true });
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Both streams of a command on a terminal come as one, on stdout. */
function onTerminal(command: readonly string[]): string[] {
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  return ['script', '--quiet', '--flush', '--return', '--command', quoted, '/dev/null'];
}

function commandLineOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** The ids of the processes whose command line holds a text. */
export function pidsOf(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return pid !== process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    });
}
