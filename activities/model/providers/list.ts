import { LRUCache } from 'lru-cache';
import { clientOf, type Endpoint } from './endpoint.ts';
import { modelError } from './failures.ts';

const KEPT_MS = 300_000;
const TIMEOUT_MS = 10_000;

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
}
