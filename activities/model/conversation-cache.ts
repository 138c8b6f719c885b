import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import {
  type AgentId,
  CadreError,
  type ConversationPointer,
  EMPTY_DIGEST,
  extendDigest,
  type FreshItem,
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

/** Reads the items from `from` up to, but without, `to` from the agent of a conversation. */
export type ReadItems = (pointer: ConversationPointer, from: number, to: number) => Promise<Item[]>;

/** Re-reads replay workflows that are not cached, so only a few may run at once in a process. */
const rereads = pLimit(4);

/**
 * The conversations that this worker has seen lately, and the outputs of the tools it ran. A model call brings only a
 * pointer and the newest items; what comes before them, and the text of outputs, is found here, or read again from the
 * agent. The digest proves that it is the right one.
 */
export class ConversationCache {
  readonly #kept: LRUCache<AgentId, Kept>;
  /** Outputs of calls that no model call has brought into a conversation yet. */
  readonly #outputs = new LRUCache<string, string>({
    maxSize: 50_000_000,
    sizeCalculation: (output) => 1 + output.length,
  });

  /** @param limits the most conversations, and the most characters of JSON over all of them */
  constructor(limits: { conversations?: number | undefined; characters?: number | undefined } = {}) {
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
  async resolve(pointer: ConversationPointer, fresh: readonly FreshItem[], read: ReadItems): Promise<Item[]> {
    const found =
      this.#found(pointer, fresh) ??
      (await this.#withNewestRead(pointer, fresh, read)) ??
      this.#match(pointer, await readAll(pointer, read), pointer.count, []);
    if (found !== undefined) return found;
    throw new CadreError(
      'internal',
      `The conversation read from ${pointer.agent_id} (run ${pointer.run_id}) is not the one the model was to see: its digest differs.`,
      { hint: 'It is read again at the next attempt.', retryable: true },
    );
  }

  /** Keeps the output of a call for the model call that will refer to it. */
  remember(agent: AgentId, callId: string, output: string): void {
    this.#outputs.set(keyOf(agent, callId), output);
  }

  /** Adds what the model has made, as the workflow is about to do. */
  append(agent: AgentId, items: readonly Item[]): void {
    const kept = this.#kept.get(agent);
    if (kept !== undefined) this.#kept.set(agent, grow(kept, kept.items.length, items));
  }

  /** All of it is here: the prefix, and the output of each call. */
  #found(pointer: ConversationPointer, fresh: readonly FreshItem[]): Item[] | undefined {
    const kept = this.#kept.get(pointer.agent_id);
    // The call is tried again: the first attempt has put it together.
    const again = this.#match(pointer, kept, pointer.count, []);
    if (again !== undefined) return again;
    const items = this.#withText(pointer.agent_id, fresh);
    const start = pointer.count - fresh.length;
    return items && this.#match(pointer, start === 0 ? nothing : kept, start, items);
  }

  /** The prefix is here, but another worker ran the tools. */
  async #withNewestRead(
    pointer: ConversationPointer,
    fresh: readonly FreshItem[],
    read: ReadItems,
  ): Promise<Item[] | undefined> {
    const start = pointer.count - fresh.length;
    const kept = this.#kept.get(pointer.agent_id);
    if (start <= 0 || kept === undefined || kept.items.length < start) return undefined;
    const newest = await rereads(() => read(pointer, start, pointer.count));
    return this.#match(pointer, kept, start, newest);
  }

  #withText(agent: AgentId, fresh: readonly FreshItem[]): Item[] | undefined {
    const items: Item[] = [];
    for (const item of fresh) {
      if (item.type !== 'output_reference') items.push(item);
      else {
        const output = this.#outputs.get(keyOf(agent, item.of.call_id));
        if (output === undefined) return undefined;
        items.push({ ...item.of, output });
      }
    }
    return items;
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

const nothing: Kept = { items: [], digests: [], sizes: [] };

function keyOf(agent: AgentId, callId: string): string {
  return `${agent} ${callId}`;
}

async function readAll(pointer: ConversationPointer, read: ReadItems): Promise<Kept> {
  return grow(nothing, 0, await rereads(() => read(pointer, 0, pointer.count)));
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
