import { type AgentId, isBelow, parentOf } from './ids.ts';

/**
 * Whoever stands above running agents, and is not among them. Where such a one has ended, it has ended without closing
 * what is below it.
 */
export function missingAbove(running: readonly AgentId[]): AgentId[] {
  const known = new Set(running);
  const missing = new Set<AgentId>();
  for (const id of running) {
    for (let above = parentOf(id); above !== undefined; above = parentOf(above)) {
      if (!known.has(above)) missing.add(above);
    }
  }
  return [...missing];
}

/** Those that lie below one that has ended: nobody sees any more what they do. */
export function orphansOf(running: readonly AgentId[], ended: readonly AgentId[]): AgentId[] {
  return running.filter((id) => ended.some((above) => isBelow(id, above)));
}

/** Those with none of the others above them: who tells them to close has told all. */
export function topmost(ids: readonly AgentId[]): AgentId[] {
  return ids.filter((id) => !ids.some((other) => isBelow(id, other)));
}
