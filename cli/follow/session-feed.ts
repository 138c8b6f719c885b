import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Agent, Retry } from '../../client/types.ts';
import type { AgentEvent, AgentId, AgentView } from '../../protocol/index.ts';

/** How a feed reaches an agent; the client behind it may change when the server comes back elsewhere. */
export type Reach = (id: AgentId) => Promise<Agent>;

export interface FeedOptions {
  /** Every event of every agent, in order for each agent, and how that agent stood when it was looked at. */
  onEvent?: (event: AgentEvent, view: AgentView) => void;
  /** The whole session, each time it was looked at. */
  onTree?: (agents: AgentView[]) => void;
  /**
   * Read every agent to its very end. An agent that has closed has to be replayed for that, which takes a session of
   * hundreds a minute; without it the closing of agents below the root may go untold.
   */
  complete?: boolean;
  /** A call of an agent that has failed and is tried again, once for each attempt. */
  onRetry?: (agent: AgentView, retry: Retry) => void;
}

const FIRST_MS = 100;
const MOST_MS = 1_000;
/** Each look at an agent costs its worker some milliseconds: with many agents one looks less often. */
const PER_AGENT_MS = 25;
/** So many agents are asked at the same time. */
const AT_ONCE = 8;
const RETRIES_EVERY_MS = 3_000;

/** Looks at a session again and again, for whoever follows it. */
export class SessionFeed {
  readonly #root: AgentId;
  readonly #reach: Reach;
  readonly #options: FeedOptions;
  readonly #after = new Map<AgentId, number>();
  /** How an agent stood that had come to a rest when its events were read: until it moves there is no news. */
  readonly #rested = new Map<AgentId, string>();
  readonly #retriesDue = new Map<AgentId, number>();
  readonly #retriesTold = new Map<string, number>();
  readonly #limit = pLimit(AT_ONCE);

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
    const shown = await Promise.all(
      agents.map((agent) =>
        this.#limit(async () => {
          const live = agent.agent_id === this.#root ? agent : await this.#live(agent);
          await this.#news(agent);
          await this.#retries(agent);
          return live;
        }),
      ),
    );
    this.#options.onTree?.(shown);
    return shown;
  }

  /** The events of an agent that works, or has moved since it was last looked at. */
  async #news(agent: AgentView): Promise<void> {
    if (this.#options.onEvent === undefined) return;
    const { agent_id: id, turn, status, closed } = agent;
    const readsEnd = this.#options.complete === true || id === this.#root;
    const rest = agent.is_final ? `${turn} ${status}${closed && readsEnd ? ' closed' : ''}` : undefined;
    if (rest !== undefined && this.#rested.get(id) === rest) return;
    await this.#events(agent);
    if (rest === undefined) this.#rested.delete(id);
    else this.#rested.set(id, rest);
  }

  /** A provider that is down for minutes is not to look like one that thinks for minutes. */
  async #retries(agent: AgentView): Promise<void> {
    const { onRetry } = this.#options;
    const { agent_id: id, is_final: rests } = agent;
    const now = Date.now();
    if (onRetry === undefined || rests || now < (this.#retriesDue.get(id) ?? 0)) return;
    this.#retriesDue.set(id, now + RETRIES_EVERY_MS);
    const { retries } = await (await this.#reach(id)).describe();
    for (const retry of retries) {
      const key = `${id} ${retry.activity} ${agent.turn} ${agent.step}`;
      if ((this.#retriesTold.get(key) ?? 1) >= retry.attempt) continue;
      this.#retriesTold.set(key, retry.attempt);
      onRetry(agent, retry);
    }
  }

  /** What an agent itself says is newer than its last report. */
  async #live(agent: AgentView): Promise<AgentView> {
    if (agent.is_final || agent.closed || this.#options.onTree === undefined) return agent;
    try {
      return await (await this.#reach(agent.agent_id)).status();
    } catch {
      return agent;
    }
  }

  async #events(view: AgentView): Promise<void> {
    const id = view.agent_id;
    const agent = await this.#reach(id);
    for await (const event of agent.events({ after: this.#after.get(id) ?? 0 })) {
      this.#after.set(id, event.seq);
      this.#options.onEvent?.(event, view);
    }
  }
}
