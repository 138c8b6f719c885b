import { LRUCache } from 'lru-cache';
import type { SessionId, SessionSettings } from '../protocol/index.ts';

/** The shared settings of sessions, by id. */
export interface SessionStore {
  get(session: SessionId): Promise<SessionSettings>;
}

const KEPT = 500;

/** Reads the settings of a session once, from its root, and keeps them: they never change. */
export class CachedSessionStore implements SessionStore {
  readonly #known = new LRUCache<SessionId, SessionSettings>({ max: KEPT });
  readonly #read: (session: SessionId) => Promise<SessionSettings>;

  constructor(read: (session: SessionId) => Promise<SessionSettings>) {
    this.#read = read;
  }

  async get(session: SessionId): Promise<SessionSettings> {
    const known = this.#known.get(session);
    if (known !== undefined) return known;
    const settings = await this.#read(session);
    this.#known.set(session, settings);
    return settings;
  }
}
