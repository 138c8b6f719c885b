import { mkdir, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { isAgentId, type SessionId } from '../../protocol/ids.ts';
import { writeWhole } from '../../server/whole-file.ts';

/** What this person's machine keeps of a session that it has started; the session itself lives in Temporal. */
export interface SessionRecord {
  session_id: SessionId;
  queue: string;
  cwd: string;
  started_at: string;
  /** The server it was started on, where that is not the embedded one. */
  address?: string;
  namespace?: string;
  /** Ids of the keys that its payloads may be sealed with. */
  key_ids?: string[];
}

/** Files that nobody has written for so long are looked at. */
const LOOKED_AT_MS = 60 * 24 * 3_600_000;

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
    await writeWhole(this.#recordPath(record.session_id), record);
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
    for (const path of [this.#recordPath(session), this.logPath(session)]) await rm(path, { force: true });
  }

  async all(): Promise<SessionRecord[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const sessions = names.flatMap((name) => {
      const id = name.replace(/\.json$/, '');
      return name.endsWith('.json') && isAgentId(id) ? [id] : [];
    });
    return (await Promise.all(sessions.map((id) => this.read(id)))).filter((record) => record !== undefined);
  }

  /**
   * Removes old files of sessions that are there no longer. Age alone tells nothing: a session may be open for years,
   * and a closed one is kept for as long as its namespace says.
   *
   * @param isForgotten whether the server surely has nothing of that session any more
   */
  async prune(isForgotten: (record: SessionRecord) => Promise<boolean>, now = Date.now()): Promise<void> {
    const kept = new Set<string>();
    for (const record of await this.all()) {
      const { session_id: id } = record;
      const path = this.#recordPath(id);
      if (!(await isOld(path, now))) kept.add(id);
      else if (await isForgotten(record)) await this.remove(id);
      else {
        kept.add(id);
        // It is not asked for again before as much time has passed.
        await utimes(path, now / 1_000, now / 1_000).catch(() => {});
      }
    }
    for (const folder of [this.#folder, this.#logs]) {
      for (const name of await readdir(folder).catch(() => [])) {
        const [session = ''] = name.split('.', 1);
        const path = join(folder, name);
        if (!kept.has(session) && (await isOld(path, now))) await rm(path, { force: true });
      }
    }
  }

  #recordPath(session: SessionId): string {
    return join(this.#folder, `${session}.json`);
  }
}

async function isOld(path: string, now: number): Promise<boolean> {
  const file = await stat(path).catch(() => undefined);
  return file !== undefined && now - file.mtimeMs > LOOKED_AT_MS;
}
