import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Agent, Retry, TaskFailure } from '../../client/types.ts';
import type { AgentEvent, AgentId, AgentView } from '../../protocol/index.ts';
import { type PartialMessage, StreamedTexts } from './streamed-texts.ts';

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
  /** An agent that stands still since its workers fail, once for each thing that they fail at. */
  onStandstill?: (agent: AgentId, failure: TaskFailure) => void;
  /** What the models say while they say it; what they have said in the end comes as events. */
  onPartial?: (message: PartialMessage) => void;
}

const FIRST_MS = 100;
const MOST_MS = 1_000;
/** Who reads along looks more often. */
const MOST_STREAMING_MS = 250;
/** Each look at an agent costs its worker some milliseconds: with many agents one looks less often. */
const PER_AGENT_MS = 25;
/** So many agents are asked at the same time. */
const AT_ONCE = 8;
const RETRIES_EVERY_MS = 3_000;
/** How often the end is looked for: a worker that has just closed hundreds of agents may be late once. */
const LAST_LOOKS = 3;

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
  readonly #standstills = new Set<string>();
  readonly #streamed = new StreamedTexts();
  readonly #limit = pLimit(AT_ONCE);
  /** The session as it was last seen. */
  #seen: AgentView[] = [];
  /** Why an agent could not be read at the last look. */
  #missed: unknown;

  constructor(root: AgentId, reach: Reach, options: FeedOptions) {
    this.#root = root;
    this.#reach = reach;
    this.#options = options;
  }

  /** Until the signal; what cannot be seen for a moment is seen the next time. */
  async run(signal: AbortSignal): Promise<void> {
    const most = this.#options.onPartial === undefined ? MOST_MS : MOST_STREAMING_MS;
    for (let pause = FIRST_MS; !signal.aborted; pause = Math.min(pause * 1.3, most)) {
      const agents = await this.look().catch((error: unknown) => {
        this.#missed = error;
        return [];
      });
      if (this.#missed !== undefined && !signal.aborted) await this.#lookForStandstill().catch(() => {});
      const wait = Math.max(pause, agents.length * PER_AGENT_MS);
      await sleep(wait, undefined, { signal }).catch(() => {});
    }
  }

  /** Whoever does not answer may have workers that fail, and looks like one that is at work. */
  async #lookForStandstill(): Promise<void> {
    const { onStandstill } = this.#options;
    if (onStandstill === undefined) return;
    const below = this.#seen.filter(({ closed }) => !closed).map(({ agent_id: id }) => id);
    for (const id of new Set([this.#root, ...below])) {
      const { task_failure: failure } = await (await this.#reach(id)).describe();
      const key = `${id} ${failure?.message}`;
      if (failure === undefined || this.#standstills.has(key)) continue;
      this.#standstills.add(key);
      onStandstill(id, failure);
    }
  }

  /** Looks once at every agent that may have changed; one that does not answer is looked at again the next time. */
  async look(): Promise<AgentView[]> {
    this.#missed = undefined;
    const root = await this.#reach(this.#root);
    const { agents } = await root.tree();
    this.#seen = agents;
    const shown = await Promise.all(
      agents.map((agent) =>
        this.#limit(async () => {
          const live = agent.agent_id === this.#root ? agent : await this.#live(agent);
          try {
            await this.#news(agent);
            await this.#calls(agent);
          } catch (error) {
            this.#missed = error;
          }
          return live;
        }),
      ),
    );
    this.#options.onTree?.(shown);
    return shown;
  }

  /**
   * After the end: the rest of the events, and the session as it ended.
   *
   * @param trouble is told why something of it could not be read
   */
  async lastLook(trouble: (error: unknown) => void): Promise<AgentView[]> {
    let why: unknown;
    for (let looks = 0; looks < LAST_LOOKS; looks++) {
      try {
        const agents = await this.look();
        why = this.#missed;
        if (why === undefined) return agents;
      } catch (error) {
        why = error;
      }
    }
    trouble(why);
    return this.#seen;
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

  /** What the server knows of calls that are under way. */
  async #calls(agent: AgentView): Promise<void> {
    const { onRetry, onPartial } = this.#options;
    if (agent.is_final) return;
    const retriesDue = onRetry !== undefined && Date.now() >= (this.#retriesDue.get(agent.agent_id) ?? 0);
    if (!retriesDue && onPartial === undefined) return;
    const { retries, streaming } = await (await this.#reach(agent.agent_id)).describe();
    if (retriesDue) this.#retries(agent, retries);
    if (streaming === undefined) return;
    const news = this.#streamed.news(agent, streaming, Date.now());
    if (news !== undefined) onPartial?.(news);
  }

  /** A provider that is down for minutes is not to look like one that thinks for minutes. */
  #retries(agent: AgentView, retries: readonly Retry[]): void {
    const { agent_id: id } = agent;
    this.#retriesDue.set(id, Date.now() + RETRIES_EVERY_MS);
    for (const retry of retries) {
      const key = `${id} ${retry.activity} ${agent.turn} ${agent.step}`;
      if ((this.#retriesTold.get(key) ?? 1) >= retry.attempt) continue;
      this.#retriesTold.set(key, retry.attempt);
      this.#options.onRetry?.(agent, retry);
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
