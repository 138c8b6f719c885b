import { collab } from './collab.ts';
import type { Dialect } from './dialect.ts';
import { mailbox } from './mailbox.ts';
import { named } from './named.ts';
import { sessions } from './sessions.ts';

const DIALECTS: readonly Dialect[] = [collab, named, sessions, mailbox];

/** By tool: which of them an agent may call was decided when its call was planned. */
const BY_TOOL: ReadonlyMap<string, Dialect> = new Map(
  DIALECTS.flatMap((dialect) => Object.keys(dialect.tools).map((tool) => [tool, dialect] as const)),
);

/** The dialect that a tool belongs to; undefined when there is none. */
export function dialectOf(tool: string): Dialect | undefined {
  return BY_TOOL.get(tool);
}
