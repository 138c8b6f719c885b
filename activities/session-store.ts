import type { SessionId, SessionSettings } from '../protocol/index.ts';

/** The shared settings of sessions, by id; they never change, so they are read once and kept. */
export interface SessionStore {
  get(session: SessionId): Promise<SessionSettings>;
}
