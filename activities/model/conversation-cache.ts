import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import {
  type AgentId,
  CadreError,
  type ConversationPointer,
  EMPTY_DIGEST,
  extendDigest,
  type Item,
} from '../../protocol/index.ts';

/** A conversation as one worker remembers it. */
interface Kept {
  items: Item[];
  /** The digest after each item. */
  digests: string[];
  /** Size of each item as JSON, in characters. */
  sizes: number[];
}

/** Reads the first `count` items of a conversation from its agent. */
export type ReadPrefix = (pointer: ConversationPointer, count: number) => Promise<Item[]>;

/** Re-reads replay workflows that are not cached, so only a few may run at once in a process. */
const rereads = pLimit(4);

/**
 * The conversations that this worker has seen lately. A model call brings only a pointer and the newest items; what
 * comes before them is found here, or read again from the agent. The digest proves that it is the right one.
 */
export class ConversationCache {
  readonly #kept: LRUCache<AgentId, Kept>;

  /** @param limits the most conversations, and the most characters of JSON over all of them */
  constructor(limits: { conversations?: number; characters?: number } = {}) {
    this.#kept = new LRUCache({
      max: limits.conversations ?? 2_000,
      maxSize: limits.characters ?? 200_000_000,
      sizeCalculation: (kept) => 1 + kept.sizes.reduce((sum, size) => sum + size, 0),
    });
  }

  /**
   * The whole conversation that the pointer means.
   *
   * @throws CadreError (retryable) when neither the cache nor a fresh read leads to the digest of the pointer
   */
  async resolve(pointer: ConversationPointer, fresh: readonly Item[], read: ReadPrefix): Promise<Item[]> {
    const count = pointer.count - fresh.length;
    const kept = this.#kept.get(pointer.agent_id);
    const found =
      this.#match(pointer, kept, count, fresh) ??
      this.#match(pointer, await this.#reread(pointer, count, read), count, fresh);
    if (found !== undefined) return found;
    throw new CadreError(
      'internal',
      `The conversation read from ${pointer.agent_id} (run ${pointer.run_id}) is not the one the model was to see: its digest differs.`,
      { hint: 'It is read again at the next attempt.', retryable: true },
    );
  }

  /** Adds what the model has made, as the workflow is about to do. */
  append(agent: AgentId, items: readonly Item[]): void {
    const kept = this.#kept.get(agent);
    if (kept !== undefined) this.#kept.set(agent, grow(kept, kept.items.length, items));
  }

  async #reread(pointer: ConversationPointer, count: number, read: ReadPrefix): Promise<Kept> {
    const nothing: Kept = { items: [], digests: [], sizes: [] };
    if (count <= 0) return nothing;
    return grow(nothing, 0, await rereads(() => read(pointer, count)));
  }

  #match(
    pointer: ConversationPointer,
    prefix: Kept | undefined,
    count: number,
    fresh: readonly Item[],
  ): Item[] | undefined {
    if (prefix === undefined || prefix.items.length < count) return undefined;
    const whole = grow(prefix, count, fresh);
    if ((whole.digests.at(-1) ?? EMPTY_DIGEST) !== pointer.digest) return undefined;
    this.#kept.set(pointer.agent_id, whole);
    return [...whole.items];
  }
}

/** The first `count` items and what follows them; what a lost answer had left behind after those is forgotten. */
function grow(kept: Kept, count: number, added: readonly Item[]): Kept {
  const items = kept.items.slice(0, count);
  const digests = kept.digests.slice(0, count);
  const sizes = kept.sizes.slice(0, count);
  for (const item of added) {
    items.push(item);
    digests.push(extendDigest(digests.at(-1) ?? EMPTY_DIGEST, item));
    sizes.push(JSON.stringify(item).length);
  }
  return { items, digests, sizes };
}
