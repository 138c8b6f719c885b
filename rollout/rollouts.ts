import { existsSync } from 'node:fs';
import { copyFile, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CadreError,
  type KeyRing,
  localSessionOf,
  ROLLOUT_FORMAT,
  type RolloutBody,
  type RolloutHeader,
  type SessionId,
} from '../protocol/index.ts';
import { cadreVersion } from './cadre-version.ts';
import { Rollout } from './rollout.ts';
import { writeLines } from './write-file.ts';
import { rolloutText } from './write-rollout.ts';

export interface RolloutPlaces {
  /** CADRE_HOME. */
  stateDir: string;
  /** A folder of its own, where there is one: of the workers of a queue. */
  directory?: string | undefined;
  keys?: KeyRing | undefined;
}

/** The rollouts that were read last. */
const OPEN_KEPT = 8;
/** The folder of what was archived while its session went on. */
const ARCHIVES = 'archives';
/** The end of the name of one that cannot be read. */
const BROKEN = '.broken';

/** Where those lie that sessions of this CADRE_HOME have left. */
export function ownRollouts(stateDir: string): string {
  return join(stateDir, 'rollouts');
}

/** The rollouts that are at hand: those in CADRE_HOME, and those in a folder of the workers of a queue. */
export class Rollouts {
  readonly stateDir: string;
  readonly #own: string;
  /** Where they are looked for; the first one is written to. */
  readonly folders: readonly string[];
  readonly keys: KeyRing | undefined;
  /** By path, with what the file was like. */
  readonly #open = new Map<string, { stamp: string; rollout: Rollout }>();

  constructor({ stateDir, directory, keys }: RolloutPlaces) {
    const own = ownRollouts(stateDir);
    this.stateDir = stateDir;
    this.#own = own;
    this.folders = directory === undefined || directory === own ? [own] : [directory, own];
    this.keys = keys;
  }

  /** Where agents of a session are archived that are ended before it. */
  archivesOf(session: SessionId): string {
    return join(this.folders[0] ?? this.#own, ARCHIVES, session);
  }

  /** Where `write` puts the rollout of a session. */
  pathToWrite(session: SessionId): string | undefined {
    return this.#paths(session)[0];
  }

  /** Where the rollout of a session lies; undefined where there is none. */
  pathOf(session: SessionId): string | undefined {
    return this.pathsOf(session)[0];
  }

  /** All that lie here of a session; of several the first one counts. */
  pathsOf(session: SessionId): string[] {
    return this.#paths(session).filter((path) => existsSync(path));
  }

  /**
   * Where whoever works for a queue looks for the rollout of a session: for a local one in CADRE_HOME, for any other in
   * the folder of the queue's workers, where there is one.
   */
  placeFor(session: SessionId, queue: string): string {
    const folder = localSessionOf(queue) === undefined ? this.folders[0] : this.#own;
    return fileIn(folder ?? this.#own, session);
  }

  /**
   * The rollout of a session; undefined where there is none.
   *
   * @throws CadreError `rollout_invalid` for a file that is broken, `key_missing`
   */
  async find(session: SessionId): Promise<Rollout | undefined> {
    const path = this.pathOf(session);
    if (path === undefined) return undefined;
    const { mtimeMs, size, ino } = await stat(path);
    const stamp = `${mtimeMs} ${size} ${ino}`;
    const known = this.#open.get(path);
    this.#open.delete(path);
    const rollout = known?.stamp === stamp ? known.rollout : await Rollout.open(path, this.keys);
    this.#open.set(path, { stamp, rollout });
    for (const oldest of this.#open.keys()) if (this.#open.size > OPEN_KEPT) this.#open.delete(oldest);
    if (rollout.header.session_id === session) return rollout;
    throw new CadreError(
      'rollout_invalid',
      `${path} holds the session ${rollout.header.session_id}, and not the one that it is named for.`,
    );
  }

  /** Writes the rollout of a session, in place of an earlier one; returns where. */
  async write(
    header: RolloutHeader,
    body: AsyncIterable<RolloutBody>,
    path = this.#paths(header.session_id)[0] ?? '',
  ): Promise<string> {
    await writeLines(path, rolloutText(header, body, this.keys));
    return path;
  }

  /**
   * Writes the rollout of a session in place of one that cannot be read, which stays beside it for a person to look
   * into. Where nothing comes of that, all is as it was.
   */
  async writeInPlaceOfBroken(header: RolloutHeader, body: AsyncIterable<RolloutBody>): Promise<string> {
    const path = this.#paths(header.session_id)[0] ?? '';
    const aside = `${path}.${Date.now()}${BROKEN}`;
    if (existsSync(path)) await copyFile(path, aside);
    try {
      return await this.write(header, body);
    } catch (error) {
      await rm(aside, { force: true });
      throw error;
    }
  }

  /** Also what was set aside, and what was archived. Returns whether there was one. */
  async remove(session: SessionId): Promise<boolean> {
    const found = this.pathsOf(session);
    for (const folder of this.folders) {
      for (const name of await readdir(folder).catch(() => [])) {
        if (name.startsWith(`${session}.`) && name.endsWith(BROKEN))
          await rm(join(folder, name), { force: true });
      }
    }
    for (const path of found) await rm(path, { force: true });
    for (const folder of this.folders) {
      await rm(join(folder, ARCHIVES, session), { recursive: true, force: true });
    }
    return found.length > 0;
  }

  #paths(session: SessionId): string[] {
    return this.folders.map((folder) => fileIn(folder, session));
  }
}

function fileIn(folder: string, session: SessionId): string {
  return join(folder, `${session}.jsonl`);
}

/** The header of a rollout that is collected now. */
export function newHeader(session: SessionId, queue: string): RolloutHeader {
  return {
    type: 'rollout',
    format: ROLLOUT_FORMAT,
    session_id: session,
    written_at: new Date().toISOString(),
    cadre: cadreVersion(),
    queue,
  };
}
