import { CadreError, type ProviderSettings, REHEARSAL_PROVIDER } from '../../protocol/index.ts';
import { scriptModels } from '../../protocol/script-models.ts';
import { type Endpoint, type Environment, endpointOf } from './providers/endpoint.ts';
import { HttpProvider } from './providers/http-provider.ts';
import { ModelList } from './providers/list.ts';
import type { ModelProvider } from './providers/provider.ts';
import { REHEARSAL_SCRIPT } from './script/rehearsal.ts';
import { ScriptProvider } from './script/script-provider.ts';

/** `[model_providers]` of a session. */
export type ConfiguredProviders = Readonly<Record<string, ProviderSettings>>;

/** The provider whose script is named by the configuration, and the name of its model. */
const SCRIPT_PROVIDER = 'script';

/**
 * The model providers of one process, by name. Keys come from the environment given here, which is that of whoever
 * works for the session; they are never sent anywhere else than to their provider.
 */
export class ModelProviders {
  readonly #environment: Environment;
  readonly #idleMs: number | undefined;
  readonly #list = new ModelList();
  readonly #made = new Map<string, ModelProvider>();

  /** @param options.idleMs how long a model may be silent in the middle of a call (default 5 minutes) */
  constructor(environment: Environment, options: { idleMs?: number } = {}) {
    this.#environment = environment;
    this.#idleMs = options.idleMs;
  }

  /** @throws CadreError `config_invalid` for one that is not configured, or not enough */
  get(name: string, configured: ConfiguredProviders): ModelProvider {
    const identity = JSON.stringify([name, configured[name] ?? null]);
    const known = this.#made.get(identity);
    if (known !== undefined) return known;
    const made = this.#make(name, configured);
    this.#made.set(identity, made);
    return made;
  }

  /** The models that a provider offers; throws `ModelError` when it has to be asked and does not answer. */
  async models(name: string, configured: ConfiguredProviders): Promise<string[]> {
    if (isScripted(name, configured)) return scriptModels(name, configured[name]);
    return this.#list.offered(this.#endpoint(name, configured));
  }

  #make(name: string, configured: ConfiguredProviders): ModelProvider {
    if (isScripted(name, configured)) {
      return new ScriptProvider(configured[name]?.script ?? scriptPath(name));
    }
    const endpoint = this.#endpoint(name, configured);
    return new HttpProvider(endpoint, {
      listModels: () => this.#list.offered(endpoint),
      idleMs: this.#idleMs,
    });
  }

  #endpoint(name: string, configured: ConfiguredProviders): Endpoint {
    if (name !== 'openai' && configured[name] === undefined) {
      const known = ['openai', REHEARSAL_PROVIDER, ...Object.keys(configured)];
      throw new CadreError('config_invalid', `There is no model provider ${name}.`, {
        hint: `Known: ${[...new Set(known)].join(', ')}. Others are set up under [model_providers.NAME].`,
      });
    }
    return endpointOf(name, configured[name], this.#environment);
  }
}

function isScripted(name: string, configured: ConfiguredProviders): boolean {
  return name === REHEARSAL_PROVIDER || name === SCRIPT_PROVIDER || configured[name]?.script !== undefined;
}

function scriptPath(name: string): string {
  if (name === REHEARSAL_PROVIDER) return REHEARSAL_SCRIPT;
  throw new CadreError('config_invalid', 'The model provider script has no script to play.', {
    hint: 'Set script = "PATH" under [model_providers.script] in the configuration.',
  });
}
