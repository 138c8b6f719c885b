import type { AgentId } from '../protocol/index.ts';

/** Who watches which agents, under the id of the request that has asked for it. */
export type WatchesCarry = [requestId: string, watcher: AgentId, agents: AgentId[]][];

/** The root's list of those who wait for agents that are not theirs: as long as the wait, and no longer. */
export class Watches {
  readonly #watches: Map<string, { watcher: AgentId; agents: AgentId[] }>;

  constructor(carry: WatchesCarry = []) {
    this.#watches = new Map(carry.map(([id, watcher, agents]) => [id, { watcher, agents }]));
  }

  begin(requestId: string, watcher: AgentId, agents: AgentId[]): void {
    if (agents.length > 0) this.#watches.set(requestId, { watcher, agents });
  }

  /** Only its own: anybody may send an id. */
  end(requestId: string, watcher: AgentId): void {
    if (this.#watches.get(requestId)?.watcher === watcher) this.#watches.delete(requestId);
  }

  /** Of one that waits for nobody any more. */
  forget(watcher: AgentId): void {
    for (const [id, watch] of this.#watches) if (watch.watcher === watcher) this.#watches.delete(id);
  }

  clear(): void {
    this.#watches.clear();
  }

  /** Each of them once. */
  of(agent: AgentId): AgentId[] {
    const watchers = [...this.#watches.values()].filter(({ agents }) => agents.includes(agent));
    return [...new Set(watchers.map(({ watcher }) => watcher))];
  }

  /** About as many as they take in the input of a new run. */
  get bytes(): number {
    return this.#watches.size === 0 ? 0 : JSON.stringify(this.carry).length;
  }

  get carry(): WatchesCarry {
    return [...this.#watches].map(([id, { watcher, agents }]) => [id, watcher, agents]);
  }
}
