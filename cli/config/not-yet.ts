import { CadreError } from '../../protocol/errors.ts';
import type { Config } from './schema.ts';

/** Tables of the configuration that this version reads and does not act on yet. */
const WITHOUT_EFFECT = ['memory', 'mcp_servers'];

/**
 * Notices about settings that have no effect yet.
 *
 * @throws CadreError `config_invalid` for encryption: going on without it would break a promise
 */
export function notYetAvailable(config: Config, isSet: (key: string) => boolean): string[] {
  if (config.encryption !== undefined && Object.keys(config.encryption).length > 0) {
    throw new CadreError('config_invalid', 'encryption is configured, but this version cannot encrypt yet', {
      hint: 'Remove [encryption] to go on without it.',
    });
  }
  return WITHOUT_EFFECT.filter(isSet).map((key) => `[${key}] has no effect in this version`);
}
