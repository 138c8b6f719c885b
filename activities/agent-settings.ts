import { LRUCache } from 'lru-cache';
import type { AgentContext, AgentId, AgentReference, AgentSettings } from '../protocol/index.ts';

const KEPT = 5_000;

/** The settings of agents that this worker has seen; others are read from the agent itself. */
export class AgentSettingsStore {
  readonly #known = new LRUCache<AgentId, AgentSettings>({ max: KEPT });
  readonly #read: (agent: AgentId) => Promise<AgentSettings>;

  constructor(read: (agent: AgentId) => Promise<AgentSettings>) {
    this.#read = read;
  }

  /** The agent with its settings, whether they came along or not. */
  async complete(reference: AgentReference): Promise<AgentContext> {
    const { agent_id: id } = reference;
    const settings = reference.settings ?? this.#known.get(id) ?? (await this.#read(id));
    this.#known.set(id, settings);
    return { ...reference, settings };
  }
}
