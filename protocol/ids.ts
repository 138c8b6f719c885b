import { z } from 'zod';

/** The id of an agent; it is the Temporal workflow id. */
export type AgentId = string & { readonly __brand: 'AgentId' };
/** The id of a session: that of its root. */
export type SessionId = AgentId;

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const ROOT = /^a[0-9a-hjkmnp-tv-z]{12}$/;
const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** How many levels there may be below a root, whatever a session is set to. */
export const DEPTH_MAX = 16;
/** No id of an agent is longer: Temporal takes no longer one for a workflow, and a task that asks for one fails. */
export const AGENT_ID_MAX = 1_000;
/** Nor is the name of what an agent asks for or sends: its id, a mark, and a number. */
export const NAMED_ID_MAX = AGENT_ID_MAX + 40;

const TIME_CHARS = 9;
const RANDOM_CHARS = 3;

/**
 * A new root id: `a`, nine characters of time in milliseconds, three of chance, so that ids sort by age.
 *
 * @param now milliseconds since the epoch
 * @param random yields numbers in [0, 1)
 */
export function newRootId(now: number, random: () => number): SessionId {
  let time = '';
  for (let rest = Math.floor(now), i = 0; i < TIME_CHARS; i++, rest = Math.floor(rest / 32)) {
    time = ALPHABET[rest % 32] + time;
  }
  let chance = '';
  for (let i = 0; i < RANDOM_CHARS; i++) chance += ALPHABET[Math.floor(random() * 32)];
  return `a${time}${chance}` as SessionId;
}

/** Whether the text has the form of an agent id (it may still name no agent). */
export function isAgentId(text: string): text is AgentId {
  if (text.length > AGENT_ID_MAX) return false;
  const [root, ...rest] = text.split('/');
  return ROOT.test(root ?? '') && rest.every((segment) => SEGMENT.test(segment));
}

export const agentIdSchema = z.custom<AgentId>((value) => typeof value === 'string' && isAgentId(value), {
  error: 'expected an agent id such as a0k3v9x2m4qd7 or a0k3v9x2m4qd7/worker-1',
});

/** The id of a child: its parent's, a slash, and the name given by the caller or made of role and counter. */
export function childId(parent: AgentId, segment: string): AgentId {
  return `${parent}/${segment}` as AgentId;
}

/** Whether a caller may use this text as a child's name. */
export function isChildName(text: string): boolean {
  return SEGMENT.test(text);
}

export function sessionOf(id: AgentId): SessionId {
  return id.split('/', 1)[0] as SessionId;
}

export function parentOf(id: AgentId): AgentId | undefined {
  const cut = id.lastIndexOf('/');
  return cut < 0 ? undefined : (id.slice(0, cut) as AgentId);
}

/** 0 for a root. */
export function depthOf(id: AgentId): number {
  return id.split('/').length - 1;
}

/** The part after the last slash: what people read in lists. */
export function nameOf(id: AgentId): string {
  return id.slice(id.lastIndexOf('/') + 1);
}

export function isBelow(id: AgentId, ancestor: AgentId): boolean {
  return id.startsWith(`${ancestor}/`);
}

export type Resolved = { id: AgentId } | { candidates: AgentId[] };

/**
 * Finds the agent that a short reference means inside a session: a full id, the part after the root's id,
 * or a name that only one agent of the session bears.
 *
 * @returns the id, or the candidates: none for an unknown name, several for an ambiguous one
 */
export function resolveReference(reference: string, session: SessionId, known: Iterable<AgentId>): Resolved {
  const ids = [...known];
  if (isAgentId(reference)) {
    return sessionOf(reference) === session && ids.includes(reference)
      ? { id: reference }
      : { candidates: [] };
  }
  const relative = `${session}/${reference}` as AgentId;
  if (ids.includes(relative)) return { id: relative };
  const named = ids.filter((id) => nameOf(id) === reference);
  return named.length === 1 ? { id: named[0] as AgentId } : { candidates: named };
}
