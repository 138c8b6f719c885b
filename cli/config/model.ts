import { CadreError } from '../../protocol/errors.ts';
import { acceptedEfforts } from '../../protocol/reasoning-efforts.ts';
import { scriptModels } from '../../protocol/script-models.ts';
import { DEFAULT_OPENAI_MODEL } from '../../protocol/settings.ts';
import { closestName } from './closest-key.ts';
import type { ProviderChoice } from './provider.ts';
import type { Config } from './schema.ts';

/** Asks a provider which models it has. */
export type ListModels = (choice: ProviderChoice) => Promise<string[]>;

type ModelConfig = Pick<Config, 'model' | 'model_aliases' | 'reasoning_effort'> & {
  agents: Pick<Config['agents'], 'allowed_models'>;
};

/**
 * The model of a session: the one configured (or what its alias means), else the provider's default, else the only
 * model that the provider has.
 *
 * @throws CadreError `unknown_model` for one that is not on offer, `config_invalid` when there is none to choose, or for
 * an effort that it does not take, `model_unreachable` when the provider does not answer
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
  const { name, settings } = choice;
  if (settings.script !== undefined) checkPlayed(model, choice);
  else checkOffered(model, settings.models, `model_providers.${name}.models`);
  checkEffort(config.reasoning_effort, choice, model);
  return model;
}

async function defaultModel(choice: ProviderChoice, list: ListModels): Promise<string> {
  const { name, settings } = choice;
  if (name === 'rehearsal') return 'rehearsal';
  if (settings.script !== undefined) return scriptModels(name, settings)[0] ?? name;
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

function checkPlayed(model: string, { name, settings }: ProviderChoice): void {
  const played = scriptModels(name, settings);
  if (played.includes(model)) return;
  throw new CadreError(
    'unknown_model',
    `the model ${model} is not among those of the script of ${name}: ${played.join(', ')}`,
    {
      hint: `Take --model ${closestName(model, played) ?? played[0]}, or list the other in model_providers.${name}.models.`,
    },
  );
}

function checkEffort(
  effort: Config['reasoning_effort'],
  { name, settings }: ProviderChoice,
  model: string,
): void {
  const accepted = acceptedEfforts(name, settings, model);
  if (effort === undefined || accepted === undefined || accepted.includes(effort)) return;
  const problem = `reasoning_effort is ${effort}, which the model ${model} does not take`;
  throw new CadreError('config_invalid', problem, {
    hint: `It takes ${accepted.join(', ')}. What a model takes may be set in model_providers.${name}.reasoning_efforts.`,
  });
}

function isOpenaiAddress(address: string): boolean {
  return URL.canParse(address) && new URL(address).hostname === 'api.openai.com';
}
