import type { ChildProcess } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { CadreError } from '../protocol/index.ts';
import { runningCodecServer } from './codec-process.ts';
import { beginDatabase, databaseComplete } from './database.ts';
import { findProgram } from './find.ts';
import { cacheDir, refuseFolder, unwritable } from './home.ts';
import { codecUrl, launch } from './launch.ts';
import { prepareNamespace } from './namespace.ts';
import { areFree, chooseCodecPort, choosePorts, type Ports } from './ports.ts';
import { processStart } from './process-identity.ts';
import { readRecord, recordPath, type ServerRecord, writeRecord } from './record.ts';
import { ServerLog } from './server-log.ts';

export interface StartOptions {
  cacheDir?: string;
  /** Told what takes long, in a line each. */
  onProgress?: (text: string) => void;
  /** Where `temporal` is looked for, as PATH is written; default: PATH. */
  searchPath?: string;
  /** Whoever starts it starts a codec server beside it, of which the Web UI is told; default: no. */
  codecServer?: boolean;
  /** More arguments for the server, for tests. */
  extraArgs?: readonly string[];
}

const START_MS = 60_000;
const ATTEMPTS = 3;
/** With less room than this on the disk that is why a server does not start. */
const ROOM_BYTES = 2_000_000;

/** Starts a server in a CADRE_HOME where none runs; whoever calls holds its lock. */
export async function startServer(home: string, options: StartOptions): Promise<ServerRecord> {
  const { onProgress, searchPath, cacheDir: cache = cacheDir() } = options;
  refuseFolder(recordPath(home));
  const program = await findProgram({ cacheDir: cache, onProgress, searchPath });
  const before = await readRecord(home);
  for (let attempt = 1; ; attempt++) {
    const ports = await choosePorts(before);
    if (options.codecServer === true) {
      ports.codecPort = await chooseCodecPort(ports, before, (await runningCodecServer(home))?.url);
    }
    const record = await tryToStart(program.path, home, ports, options.extraArgs ?? [], attempt === ATTEMPTS);
    if (record !== undefined) return record;
  }
}

/** Undefined when somebody took a port between the look and the start, and it is not the last attempt. */
async function tryToStart(
  program: string,
  home: string,
  ports: Ports,
  extraArgs: readonly string[],
  isLast: boolean,
): Promise<ServerRecord | undefined> {
  const log = new ServerLog(home);
  let child: ChildProcess | undefined;
  try {
    beginDatabase(home);
    child = launch(program, home, ports, log.fd, extraArgs);
    const record = await publish(home, await ready(child, ports));
    child.unref();
    return record;
  } catch (error) {
    child?.kill('SIGKILL');
    if (!isLast && typeof child?.exitCode === 'number' && (await wasTaken(ports, log))) return undefined;
    throw await notStarted(home, log, error);
  } finally {
    log.close();
  }
}

async function wasTaken(ports: Ports, log: ServerLog): Promise<boolean> {
  return (await log.tail()).includes('address already in use') || !(await areFree(ports));
}

async function ready(child: ChildProcess, ports: Ports): Promise<ServerRecord> {
  const settled = new AbortController();
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => reject(new Error(`it ended with ${signal ?? code}`)));
  });
  ended.catch(() => {});
  const address = `127.0.0.1:${ports.port}`;
  try {
    const started = child.pid === undefined ? undefined : await processStart(child.pid);
    const version = await Promise.race([prepareNamespace(address, START_MS, settled.signal), ended]);
    const ui = `http://127.0.0.1:${ports.uiPort}`;
    const codec = ports.codecPort === undefined ? {} : { codec: codecUrl(ports.codecPort) };
    return { address, ui, ...codec, pid: child.pid ?? 0, version, started: started ?? 'unknown' };
  } finally {
    settled.abort();
  }
}

/** From here on the server is for everybody. */
export async function publish(home: string, record: ServerRecord): Promise<ServerRecord> {
  try {
    databaseComplete(home);
    await writeRecord(home, record);
    return record;
  } catch (error) {
    throw unwritable(home, error);
  }
}

async function notStarted(home: string, log: ServerLog, cause: unknown): Promise<CadreError> {
  if (cause instanceof CadreError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const { bavail, bsize } = statfsSync(home);
  if (bavail * bsize < ROOM_BYTES)
    return unwritable(home, Object.assign(new Error(reason), { code: 'ENOSPC' }));
  const tail = await log.tail();
  return new CadreError(
    'server_unavailable',
    `The Temporal server did not start: ${reason}.${tail === '' ? '' : ` Its log ends:\n${tail}`}`,
    {
      hint: `The whole log is ${log.path}. A server of your own can be named with --address.`,
      retryable: true,
      cause,
    },
  );
}
