import type { AgentSettings, Dialect } from '../protocol/index.ts';
import { type ConfigSources, loadConfig } from './config/load.ts';
import { agentSettingsOf, type SessionChoices } from './session-settings.ts';

/**
 * The settings of a root whose role speaks another dialect than the configuration names: what a dialect presumes for a
 * session goes by the root.
 *
 * @throws CadreError `config_invalid` for limits that the dialect does not have
 */
export async function withLimitsOf(
  dialect: Dialect,
  choices: Omit<SessionChoices, 'searchAttributes'>,
  sources: ConfigSources,
): Promise<AgentSettings> {
  const own = agentSettingsOf(choices);
  if (dialect === own.dialect) return own;
  const flag = { path: ['agents', 'dialect'], value: dialect, where: `the role ${choices.role}` };
  const { config } = await loadConfig({ ...sources, flags: [...(sources.flags ?? []), flag] });
  return { ...own, limits: agentSettingsOf({ ...choices, config }).limits };
}
