import { LRUCache } from 'lru-cache';
import { CadreError, DEFAULT_OPENAI_MODEL } from '../../../protocol/index.ts';
import { ModelError } from '../model-error.ts';
import { clientOf, type Endpoint, shownUrl } from './endpoint.ts';
import { modelError } from './failures.ts';

const KEPT_MS = 300_000;
const TIMEOUT_MS = 10_000;
const SHOWN = 40;

/** The models that providers offer: as configured, or asked of the provider and kept for five minutes. */
export class ModelList {
  readonly #lists = new LRUCache<string, string[]>({ max: 50, ttl: KEPT_MS });

  /** @throws ModelError when the provider has to be asked and does not answer */
  async offered(endpoint: Endpoint): Promise<string[]> {
    if (endpoint.models !== undefined) return endpoint.models;
    const place = `${endpoint.provider} ${endpoint.baseUrl}`;
    const known = this.#lists.get(place);
    if (known !== undefined) return known;
    try {
      const page = await clientOf(endpoint).models.list({ timeout: TIMEOUT_MS });
      const models = (page.data ?? []).map((model) => model.id).toSorted();
      this.#lists.set(place, models);
      return models;
    } catch (error) {
      throw modelError(error, endpoint);
    }
  }

  /**
   * The model to use when the configuration names none: OpenAI's default, or the only one that another server lists.
   *
   * @throws CadreError `unknown_model` that lists what is on offer
   */
  async choose(endpoint: Endpoint): Promise<string> {
    if (endpoint.isOpenAI && endpoint.models === undefined) return DEFAULT_OPENAI_MODEL;
    const where = `${endpoint.provider} (${shownUrl(endpoint.baseUrl)})`;
    const models = await this.offered(endpoint).catch((error: unknown) => {
      const why = error instanceof ModelError ? error.message : String(error);
      throw new CadreError(
        'unknown_model',
        `No model is named, and ${where} cannot be asked which it has: ${why}`,
        {
          hint: 'Name one: --model NAME, or model = "NAME" in the configuration.',
        },
      );
    });
    const [only, ...others] = models;
    if (only !== undefined && others.length === 0) return only;
    throw new CadreError(
      'unknown_model',
      only === undefined
        ? `No model is named, and ${where} lists none.`
        : `No model is named, and ${where} has ${models.length}: ${shown(models)}`,
      { hint: 'Name one: --model NAME, or model = "NAME" in the configuration.' },
    );
  }
}

function shown(models: string[]): string {
  const rest = models.length - SHOWN;
  return models.slice(0, SHOWN).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
