import { CadreError } from '../../protocol/errors.ts';
import { BUILTIN_PROVIDERS, type ProviderSettings } from '../../protocol/settings.ts';
import { closestName } from './closest-key.ts';
import type { Environment } from './environment.ts';
import type { Config } from './schema.ts';

export interface ProviderChoice {
  name: string;
  settings: ProviderSettings;
  /** The variable that holds the key, if there is one. */
  keyVariable: string | undefined;
  keyRequired: boolean;
}

type ProviderConfig = Pick<Config, 'model_provider' | 'model_providers'>;

/**
 * The provider of a session: the one named, else OpenAI when its variables are set, else the only one configured,
 * else the rehearsal script.
 *
 * @throws CadreError `config_invalid` for a name that is not configured, or when several are and none is named
 */
export function chooseProvider(config: ProviderConfig, environment: Environment): ProviderChoice {
  const configured = Object.keys(config.model_providers);
  const name = config.model_provider ?? impliedProvider(configured, environment);
  const settings = config.model_providers[name];
  if (settings === undefined && !BUILTIN_PROVIDERS.some((builtin) => builtin === name)) {
    const known = [...new Set([...configured, ...BUILTIN_PROVIDERS])];
    const closest = closestName(name, known);
    const meant = closest === undefined ? '' : `; the closest is ${closest}`;
    throw new CadreError('config_invalid', `model_provider names ${name}, which is not configured${meant}`, {
      hint: `Add [model_providers.${name}] with a base_url, or choose one of: ${known.join(', ')}.`,
    });
  }
  if (name === 'script' && settings?.script === undefined) {
    throw new CadreError('config_invalid', 'the provider script needs a script to play', {
      hint: 'Name it: -c model_providers.script.script=./my-script.yaml',
    });
  }
  return { name, settings: settings ?? {}, ...keyOf(name, settings ?? {}) };
}

/**
 * A key that is needed and missing is better found before anything starts.
 *
 * @throws CadreError `config_invalid`
 */
export function requireKey(choice: ProviderChoice, environment: Environment): void {
  if (!choice.keyRequired || choice.keyVariable === undefined || environment[choice.keyVariable]?.trim())
    return;
  throw new CadreError('config_invalid', `the provider ${choice.name} needs a key in ${choice.keyVariable}`, {
    hint: `Set ${choice.keyVariable}, or choose another provider with -c model_provider=NAME.`,
  });
}

function impliedProvider(configured: readonly string[], environment: Environment): string {
  if (environment.OPENAI_API_KEY || configured.includes('openai')) return 'openai';
  const [only, ...others] = configured;
  if (only === undefined) return 'rehearsal';
  if (others.length === 0) return only;
  throw new CadreError('config_invalid', `several model providers are configured: ${configured.join(', ')}`, {
    hint: `Choose one: model_provider = "${only}" in the configuration, or -c model_provider=${only}.`,
  });
}

/** OpenAI's own key goes to the provider openai alone; a local server behind its name may do without. */
function keyOf(
  name: string,
  settings: ProviderSettings,
): Pick<ProviderChoice, 'keyVariable' | 'keyRequired'> {
  if (settings.script !== undefined) return { keyVariable: undefined, keyRequired: false };
  if (settings.env_key !== undefined) return { keyVariable: settings.env_key, keyRequired: true };
  if (name !== 'openai') return { keyVariable: undefined, keyRequired: false };
  return { keyVariable: 'OPENAI_API_KEY', keyRequired: settings.base_url === undefined };
}
