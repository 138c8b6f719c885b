import { CadreError } from '../../protocol/errors.ts';
import { DEFAULT_OPENAI_MODEL } from '../../protocol/settings.ts';
import { closestName } from './closest-key.ts';
import type { ProviderChoice } from './provider.ts';
import type { Config } from './schema.ts';

/** Asks a provider which models it has. */
export type ListModels = (choice: ProviderChoice) => Promise<string[]>;

type ModelConfig = Pick<Config, 'model' | 'model_aliases'> & {
  agents: Pick<Config['agents'], 'allowed_models'>;
};

/**
 * The model of a session: the one configured (or what its alias means), else the provider's default, else the only
 * model that the provider has.
 *
 * @throws CadreError `unknown_model` for one that is not on offer, `config_invalid` when there is none to choose,
 * `model_unreachable` when the provider does not answer
 */
export async function chooseModel(
  config: ModelConfig,
  choice: ProviderChoice,
  list: ListModels,
): Promise<string> {
  const model =
    config.model === undefined
      ? await defaultModel(choice, list)
      : (config.model_aliases[config.model] ?? config.model);
  checkOffered(model, config.agents.allowed_models, 'agents.allowed_models');
  checkOffered(model, choice.settings.models, `model_providers.${choice.name}.models`);
  return model;
}

async function defaultModel(choice: ProviderChoice, list: ListModels): Promise<string> {
  const { name, settings } = choice;
  if (name === 'rehearsal') return 'rehearsal';
  if (settings.script !== undefined) return settings.models?.[0] ?? name;
  const isOpenai =
    name === 'openai' && (settings.base_url === undefined || isOpenaiAddress(settings.base_url));
  if (isOpenai && settings.models === undefined) return DEFAULT_OPENAI_MODEL;
  const models = settings.models ?? (await list(choice));
  const [only] = models;
  if (only !== undefined && models.length === 1) return only;
  const offered = models.length === 0 ? 'it lists none' : `it has ${models.join(', ')}`;
  throw new CadreError(
    'config_invalid',
    `no model is set, and the provider ${name} gives no choice: ${offered}`,
    {
      hint: only === undefined ? 'Name one with --model.' : `Choose one, for example --model ${only}.`,
    },
  );
}

function checkOffered(model: string, offered: readonly string[] | undefined, key: string): void {
  if (offered === undefined || offered.includes(model)) return;
  throw new CadreError('unknown_model', `the model ${model} is not among ${key}: ${offered.join(', ')}`, {
    hint: `Choose one of them, for example --model ${closestName(model, offered) ?? offered[0]}.`,
  });
}

function isOpenaiAddress(address: string): boolean {
  return URL.canParse(address) && new URL(address).hostname === 'api.openai.com';
}
