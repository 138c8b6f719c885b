/**
 * Servers are not started for a role; what its file takes away of theirs holds for those that there are. A server that is
 * switched off is denied whole, and so is one of which only some tools are allowed: which others it has is not known here.
 *
 * @param servers the table of servers as Codex and Claude Code write it, by name
 * @returns tools as they are denied: globs
 */
export function deniedByServers(servers: unknown): string[] {
  if (typeof servers !== 'object' || servers === null || Array.isArray(servers)) return [];
  return Object.entries(servers).flatMap(([name, settings]) => {
    if (typeof settings !== 'object' || settings === null)
      return settings === false ? [`mcp__${name}__*`] : [];
    const {
      enabled,
      disabled,
      enabled_tools: only,
      disabled_tools: without,
    } = settings as Record<string, unknown>;
    const isOff = enabled === false || (disabled !== undefined && disabled !== false) || only !== undefined;
    if (isOff) return [`mcp__${name}__*`];
    return (Array.isArray(without) ? without : []).map((tool) => `mcp__${name}__${tool}`);
  });
}
