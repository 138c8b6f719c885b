import { collabDialect } from './collab.ts';
import type { DialectTools } from './dialect-tools.ts';
import { mailboxDialect } from './mailbox.ts';
import { namedDialect } from './named.ts';
import { sessionsDialect } from './sessions.ts';
import type { Dialect } from './settings.ts';

/** The dialects, a row each. No two of them have a tool of the same name. */
export const DIALECT_TOOLS: Readonly<Record<Dialect, DialectTools>> = {
  collab: collabDialect,
  named: namedDialect,
  sessions: sessionsDialect,
  mailbox: mailboxDialect,
};
