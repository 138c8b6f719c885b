import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent } from '../../client/types.ts';
import type { AgentEvent, AgentId, AgentView } from '../../protocol/index.ts';

/** How a feed reaches an agent; the client behind it may change when the server comes back elsewhere. */
export type Reach = (id: AgentId) => Promise<Agent>;

export interface FeedOptions {
  /** Every event of every agent, in order for each agent. */
  onEvent?: (event: AgentEvent) => void;
  /** The whole session, each time it was looked at. */
  onTree?: (agents: AgentView[]) => void;
}

const FIRST_MS = 100;
const MOST_MS = 1_000;
/** Each look at an agent costs its worker some milliseconds: with many agents one looks less often. */
const PER_AGENT_MS = 25;

/** Looks at a session again and again, for whoever follows it. */
export class SessionFeed {
  readonly #root: AgentId;
  readonly #reach: Reach;
  readonly #options: FeedOptions;
  readonly #after = new Map<AgentId, number>();
  readonly #drained = new Set<AgentId>();

  constructor(root: AgentId, reach: Reach, options: FeedOptions) {
    this.#root = root;
    this.#reach = reach;
    this.#options = options;
  }

  /** Until the signal; what cannot be seen for a moment is seen the next time. */
  async run(signal: AbortSignal): Promise<void> {
    for (let pause = FIRST_MS; !signal.aborted; pause = Math.min(pause * 1.3, MOST_MS)) {
      const agents = await this.look().catch(() => []);
      const wait = Math.max(pause, agents.length * PER_AGENT_MS);
      await sleep(wait, undefined, { signal }).catch(() => {});
    }
  }

  /** Looks once at every agent that may have changed. */
  async look(): Promise<AgentView[]> {
    const root = await this.#reach(this.#root);
    const { agents } = await root.tree();
    const shown: AgentView[] = [];
    for (const agent of agents) {
      const id = agent.agent_id;
      shown.push(agent.closed || id === this.#root ? agent : await this.#live(agent));
      if (this.#options.onEvent === undefined || this.#drained.has(id)) continue;
      await this.#events(id);
      if (agent.closed) this.#drained.add(id);
    }
    this.#options.onTree?.(shown);
    return shown;
  }

  /** What an agent itself says is newer than its last report. */
  async #live(agent: AgentView): Promise<AgentView> {
    if (agent.is_final || this.#options.onTree === undefined) return agent;
    try {
      return await (await this.#reach(agent.agent_id)).status();
    } catch {
      return agent;
    }
  }

  async #events(id: AgentId): Promise<void> {
    const agent = await this.#reach(id);
    for await (const event of agent.events({ after: this.#after.get(id) ?? 0 })) {
      this.#after.set(id, event.seq);
      this.#options.onEvent?.(event);
    }
  }
}
