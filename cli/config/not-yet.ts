import { CadreError } from '../../protocol/errors.ts';
import type { Config } from './schema.ts';

/** Tables of the configuration that this version reads and does not act on yet. */
const WITHOUT_EFFECT = ['memory', 'notifications', 'mcp_servers'];
/** Limits that nothing keeps yet: who sets one relies on it. */
const NOT_KEPT = ['agents.max_runtime_ms', 'agents.max_wall_ms', 'agents.max_tokens'];

/**
 * Notices about settings that have no effect yet.
 *
 * @throws CadreError `config_invalid` for encryption and for limits: going on without them would break a promise
 */
export function notYetAvailable(config: Config, isSet: (key: string) => boolean): string[] {
  if (config.encryption !== undefined && Object.keys(config.encryption).length > 0) {
    throw new CadreError('config_invalid', 'encryption is configured, but this version cannot encrypt yet', {
      hint: 'Remove [encryption] to go on without it.',
    });
  }
  const limit = NOT_KEPT.find(isSet);
  if (limit !== undefined) {
    throw new CadreError('config_invalid', `${limit} is set, but this version does not keep that limit yet`, {
      hint: 'Remove it; agents.max_steps, max_turns and max_agents are kept.',
    });
  }
  return WITHOUT_EFFECT.filter(isSet).map((key) => `[${key}] has no effect in this version`);
}
