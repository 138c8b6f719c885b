import { execFile } from 'node:child_process';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { CadreError } from '../protocol/index.ts';
import { homeMark } from './launch.ts';
import { processStart } from './process-identity.ts';
import { lives, readRecord, type ServerRecord } from './record.ts';

/** A server process of this CADRE_HOME; it may be starting, or hang. */
export type RunningServer = Omit<ServerRecord, 'version'> & { version?: string };

interface Process {
  pid: number;
  /** Its arguments, with a blank between them. */
  command: string;
}

/**
 * The server process of this CADRE_HOME, also one that nobody recorded, as whoever started it was killed, or whose
 * record is lost: a second one on the same database would be the worst that can happen to it.
 */
export async function runningServer(home: string): Promise<RunningServer | undefined> {
  const record = await readRecord(home);
  if (record !== undefined && (await lives(record))) return record;
  const mark = homeMark(await realpath(home).catch(() => home));
  for (const { pid, command } of await ownProcesses()) {
    const ports = portsOf(command, mark);
    const started = ports && (await processStart(pid));
    if (started === undefined) continue;
    const { port, uiPort, codec } = ports ?? {};
    const address = `127.0.0.1:${port}`;
    const ui = `http://127.0.0.1:${uiPort}`;
    return { address, ui, ...(codec === undefined ? {} : { codec }), pid, started };
  }
  return undefined;
}

/** The error for a server that runs and does not answer. */
export function silent(server: RunningServer, cause?: unknown): CadreError {
  return new CadreError(
    'server_unavailable',
    `The Temporal server (process ${server.pid}) runs, but does not answer at ${server.address}.`,
    {
      hint: 'It may be busy: try again. `cadre server stop` ends it even if it hangs; the next command starts it again, with all its state.',
      retryable: true,
      cause,
    },
  );
}

/** Those in the command of a server that has this mark. */
function portsOf(
  command: string,
  mark: string,
): { port: string; uiPort: string; codec?: string | undefined } | undefined {
  const [before, after] = command.split(` --dynamic-config-value ${mark} --`);
  const match = after && before?.match(/ server start-dev --ip 127\.0\.0\.1 --port (\d+) --ui-port (\d+)$/);
  if (!match) return undefined;
  const codec = after?.match(/(?:^|-)ui-codec-endpoint (\S+)/)?.[1];
  return { port: match[1] ?? '', uiPort: match[2] ?? '', codec };
}

/** The processes of this user. */
function ownProcesses(): Promise<Process[]> {
  const uid = process.getuid?.() ?? -1;
  return process.platform === 'linux' ? linuxProcesses(uid) : listedProcesses(uid);
}

async function linuxProcesses(uid: number): Promise<Process[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const owner = await stat(`/proc/${pid}`).catch(() => undefined);
      if (owner?.uid !== uid) return [];
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      return [{ pid: Number(pid), command: command.replaceAll('\0', ' ') }];
    }),
  );
  return found.flat();
}

async function listedProcesses(uid: number): Promise<Process[]> {
  const { stdout } = await promisify(execFile)('/bin/ps', ['-axww', '-o', 'pid=,uid=,command=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, owner, command = ''] = line.match(/^\s*(\d+)\s+(\d+)\s+(.*)$/) ?? [];
    return Number(owner) === uid && pid !== undefined ? [{ pid: Number(pid), command }] : [];
  });
}
