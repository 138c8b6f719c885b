import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, rename, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CadreError, SEARCH_ATTRIBUTES } from '../protocol/index.ts';
import { findProgram, type Program } from './find.ts';
import { cacheDir, ensureFolder, unwritable } from './home.ts';
import { prepareNamespace } from './namespace.ts';
import { processStart } from './process-identity.ts';
import { ProcessLock } from './process-lock.ts';
import { liveRecord, readRecord, type ServerRecord, writeRecord } from './record.ts';

export interface EnsureOptions {
  /** CADRE_HOME. */
  home: string;
  cacheDir?: string;
  /** Told what takes long, in a line each. */
  onProgress?: (text: string) => void;
  /** More arguments for the server, for tests. */
  extraArgs?: readonly string[];
}

/** Measured: three times as fast a step, and five times the throughput, than the stock development server. */
const SETTINGS: readonly string[] = [
  ...['journal_mode=WAL', 'synchronous=1'].flatMap((pragma) => ['--sqlite-pragma', pragma]),
  ...[
    'history.transferProcessorMaxPollRPS=2000',
    'history.timerProcessorMaxPollRPS=2000',
    'matching.numTaskqueueReadPartitions=1',
    'matching.numTaskqueueWritePartitions=1',
    'system.enableActivityEagerExecution=true',
  ].flatMap((value) => ['--dynamic-config-value', value]),
];

const TYPE_NAMES = { KEYWORD: 'Keyword', INT: 'Int' } as const;
const START_MS = 60_000;
const POLL_MS = 25;
const LOG_MOST_BYTES = 10_000_000;
const LOG_TAIL_LINES = 5;

/**
 * The embedded server of this CADRE_HOME: shared when it runs, started when it does not. It runs on in the
 * background; its state outlives every process.
 *
 * @throws CadreError `home_unwritable`, or `server_unavailable` when there is no program or it does not start
 */
export async function ensureServer(options: EnsureOptions): Promise<ServerRecord> {
  const running = await liveRecord(options.home);
  if (running !== undefined) return running;
  const home = ensureFolder(options.home);
  for (const end = Date.now() + START_MS; Date.now() < end; await sleep(POLL_MS)) {
    const lock = await ProcessLock.acquire(join(home, 'server.lock')).catch((error: unknown) => {
      throw unwritable(home, error);
    });
    if (lock !== undefined) {
      try {
        return (await liveRecord(home)) ?? (await start(home, options));
      } finally {
        await lock.release();
      }
    }
    const started = await liveRecord(home);
    if (started !== undefined) return started;
  }
  throw new CadreError('server_unavailable', 'Another command has been starting the server for a minute.', {
    hint: `Look at ${join(home, 'server.log')}; \`cadre server stop\` and try again.`,
    retryable: true,
  });
}

async function start(home: string, options: EnsureOptions): Promise<ServerRecord> {
  const { onProgress } = options;
  const program = await findProgram({ cacheDir: options.cacheDir ?? cacheDir(), onProgress });
  const before = await readRecord(home);
  // The same ports as before keep links in the Web UI valid and let workers find the server again.
  const port = await freePort(portOf(before?.address));
  const uiPort = await freePort(portOf(before?.ui));
  const log = await openLog(home);
  const child = launch(program, home, port, uiPort, log, options.extraArgs ?? []);
  try {
    const pid = await spawned(child);
    const record: ServerRecord = {
      address: `127.0.0.1:${port}`,
      ui: `http://127.0.0.1:${uiPort}`,
      pid,
      version: program.version,
      started: (await processStart(pid)) ?? 'unknown',
    };
    const exited = new Promise<never>((_, reject) => {
      child.once('exit', (code, signal) => reject(new Error(`it ended with ${signal ?? code}`)));
    });
    exited.catch(() => {});
    await Promise.race([prepareNamespace(record.address, START_MS), exited]);
    await writeRecord(home, record);
    child.unref();
    return record;
  } catch (error) {
    child.kill('SIGKILL');
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') throw unwritable(home, error);
    throw await notStarted(home, error);
  } finally {
    closeSync(log);
  }
}

function launch(
  program: Program,
  home: string,
  port: number,
  uiPort: number,
  log: number,
  extraArgs: readonly string[],
) {
  const attributes = Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, type]) => [
    '--search-attribute',
    `${name}=${TYPE_NAMES[type]}`,
  ]);
  const args = [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--ui-port', String(uiPort)],
    ...['--db-filename', join(home, 'temporal.db'), '--log-level', 'warn', '--log-format', 'json'],
    ...SETTINGS,
    ...attributes,
    ...extraArgs,
  ];
  // No keys of the person's in the environment of a process that outlives the command.
  const { PATH = '', HOME = '', TMPDIR } = process.env;
  const env = { PATH, HOME, CADRE_HOME: home, ...(TMPDIR === undefined ? {} : { TMPDIR }) };
  return spawn(program.path, args, { cwd: home, env, detached: true, stdio: ['ignore', log, log] });
}

function spawned(child: ReturnType<typeof launch>): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    if (child.pid !== undefined) resolve(child.pid);
  });
}

async function openLog(home: string): Promise<number> {
  const path = join(home, 'server.log');
  try {
    const size = await stat(path).then(
      (stats) => stats.size,
      () => 0,
    );
    if (size > LOG_MOST_BYTES) await rename(path, `${path}.1`);
    return openSync(path, 'a', 0o600);
  } catch (error) {
    throw unwritable(home, error);
  }
}

async function notStarted(home: string, cause: unknown): Promise<CadreError> {
  const path = join(home, 'server.log');
  const log = await readFile(path, 'utf8').catch(() => '');
  const tail = log.trim().split('\n').slice(-LOG_TAIL_LINES).join('\n');
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new CadreError(
    'server_unavailable',
    `The Temporal server did not start: ${reason}. Its log ends:\n${tail}`,
    {
      hint: `The whole log is ${path}. A server of your own can be named with --address.`,
      retryable: true,
      cause,
    },
  );
}

function portOf(address: string | undefined): number | undefined {
  const port = Number(address?.slice(address.lastIndexOf(':') + 1));
  return Number.isInteger(port) && port > 0 ? port : undefined;
}

/** The wanted port if nobody has it, else another one. */
async function freePort(wanted: number | undefined): Promise<number> {
  if (wanted !== undefined && (await tryPort(wanted)) !== undefined) return wanted;
  const port = await tryPort(0);
  if (port === undefined) throw new CadreError('server_unavailable', 'No free port on 127.0.0.1.');
  return port;
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address();
      const got = typeof address === 'object' && address !== null ? address.port : undefined;
      probe.close(() => resolve(got));
    });
  });
}
