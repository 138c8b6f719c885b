import { serverOf } from '../mcp/tool-names.ts';

/** Providers refuse a call that offers more. */
const MOST_TOOLS = 128;

/**
 * As many tools as a call may offer: those of servers make room, one at a time, the last one of whichever server has the
 * most.
 *
 * @param others how many are offered besides
 */
export function withinNumber<T extends { name: string }>(tools: readonly T[], others: number): T[] {
  const kept = new Set(tools);
  const ofServers = new Map<string, T[]>();
  for (const tool of tools) {
    const server = serverOf(tool.name);
    if (server !== undefined) ofServers.set(server, [...(ofServers.get(server) ?? []), tool]);
  }
  while (kept.size + others > MOST_TOOLS) {
    const largest = [...ofServers.values()].reduce<T[]>((a, b) => (b.length > a.length ? b : a), []);
    const last = largest.pop();
    if (last === undefined) break;
    kept.delete(last);
  }
  return [...kept];
}
