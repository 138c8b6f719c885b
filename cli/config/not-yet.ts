/** Tables of the configuration that this version reads and does not act on yet. */
const WITHOUT_EFFECT = ['mcp_servers'];

/** Notices about settings that have no effect yet. */
export function notYetAvailable(isSet: (key: string) => boolean): string[] {
  return WITHOUT_EFFECT.filter(isSet).map((key) => `[${key}] has no effect in this version`);
}
