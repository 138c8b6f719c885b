import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAgentId, type SessionId } from '../../protocol/ids.ts';

/** What this person's machine keeps of a session that it has started; the session itself lives in Temporal. */
export interface SessionRecord {
  session_id: SessionId;
  queue: string;
  cwd: string;
  started_at: string;
  /** The server it was started on, where that is not the embedded one. */
  address?: string;
  namespace?: string;
}

const KEPT_MS = 60 * 24 * 3_600_000;

/** The files of sessions below CADRE_HOME: records, locks, logs of background workers. */
export class SessionFiles {
  readonly #folder: string;
  readonly #logs: string;

  constructor(home: string) {
    this.#folder = join(home, 'sessions');
    this.#logs = join(home, 'logs');
  }

  lockPath(session: SessionId): string {
    return join(this.#folder, `${session}.lock`);
  }

  logPath(session: SessionId): string {
    return join(this.#logs, `${session}.log`);
  }

  /** @throws the error of the file system where nothing can be written */
  async prepare(): Promise<void> {
    await Promise.all([mkdir(this.#folder, { recursive: true }), mkdir(this.#logs, { recursive: true })]);
  }

  async write(record: SessionRecord): Promise<void> {
    await this.prepare();
    const path = this.#recordPath(record.session_id);
    await writeFile(`${path}.new`, `${JSON.stringify(record, null, 2)}\n`);
    await rename(`${path}.new`, path);
  }

  async read(session: SessionId): Promise<SessionRecord | undefined> {
    try {
      const record = JSON.parse(await readFile(this.#recordPath(session), 'utf8'));
      return record?.session_id === session && typeof record.queue === 'string' ? record : undefined;
    } catch {
      return undefined;
    }
  }

  async remove(session: SessionId): Promise<void> {
    await rm(this.#recordPath(session), { force: true });
    await rm(this.logPath(session), { force: true });
  }

  async all(): Promise<SessionRecord[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const sessions = names.flatMap((name) => {
      const id = name.replace(/\.json$/, '');
      return name.endsWith('.json') && isAgentId(id) ? [id] : [];
    });
    return (await Promise.all(sessions.map((id) => this.read(id)))).filter((record) => record !== undefined);
  }

  /** Removes what belongs to sessions that retention has forgotten long since. */
  async prune(now = Date.now()): Promise<void> {
    for (const folder of [this.#folder, this.#logs]) {
      for (const name of await readdir(folder).catch(() => [])) {
        const file = await stat(join(folder, name)).catch(() => undefined);
        if (file !== undefined && now - file.mtimeMs > KEPT_MS) await rm(join(folder, name), { force: true });
      }
    }
  }

  #recordPath(session: SessionId): string {
    return join(this.#folder, `${session}.json`);
  }
}
