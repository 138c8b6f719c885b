import { EMPTY_DIGEST, extendDigest } from '../protocol/digest.ts';
import { refusalOutput } from '../protocol/errors.ts';
import type {
  AgentId,
  ConversationPointer,
  FreshItem,
  Item,
  ItemsPage,
  ReplacedItems,
  Summary,
  ToolCall,
  UserMessage,
} from '../protocol/index.ts';
import { behindSummary } from '../protocol/items.ts';
import { jsonBytes } from './carried-text.ts';

export interface ConversationCarry {
  items: Item[];
  digest: string;
  /** How many items the last model call has seen or made. */
  known: number;
  bytes: number;
  /** How many items there were when the turn began. */
  before_turn?: number;
  /** Where the items are that summaries have replaced. */
  replaced_in?: ReplacedItems[];
  /** Somebody, or the model's answer, asks for a summary. */
  compact?: CompactionReason;
  /** A summary could not be had when the conversation was so large. */
  not_compacted?: number;
}

/** Why a conversation is to be compacted. */
export type CompactionReason = 'requested' | 'window' | 'full' | 'history';

/** Shorter outputs are repeated, in characters: a reference that has to be read again costs more than they do. */
const REFERRED_LENGTH = 500;
/** What has come since the last model call goes along with the next one, up to so many bytes of JSON. */
const FRESH_BYTES = 1_200_000;
/** The items of a page of the `items` query take at most this; with what is around them it stays below 400 KiB. */
const PAGE_BYTES = 400 * 1024 - 512;

/**
 * The items of the agent, with the digest that proves them. The model's activity gets a pointer and the fresh
 * items only, long outputs by reference, so that each item enters the history once, or twice where it is short.
 */
export class Conversation {
  #items: Item[];
  #digest: string;
  #known: number;
  #bytes: number;
  /** How many items there were when the turn began. */
  #before: number;
  readonly #replacedIn: ReplacedItems[];
  /** The items that were replaced in this run. */
  readonly #replaced: Item[] = [];
  /** Why it is to be compacted before the next model call. */
  compact: CompactionReason | undefined;
  /** Its size when that failed last: it is tried again when it has grown. */
  notCompacted: number | undefined;
  /** Calls whose outputs a worker has made since the last model call. */
  readonly #made = new Set<string>();

  constructor(carry: ConversationCarry = { items: [], digest: EMPTY_DIGEST, known: 0, bytes: 0 }) {
    this.#items = [...carry.items];
    this.#digest = carry.digest;
    this.#known = carry.known;
    this.#bytes = carry.bytes;
    this.#before = carry.before_turn ?? 0;
    this.#replacedIn = [...(carry.replaced_in ?? [])];
    this.compact = carry.compact;
    this.notCompacted = carry.not_compacted;
  }

  append(...items: Item[]): void {
    for (const item of items) {
      this.#items.push(item);
      this.#digest = extendDigest(this.#digest, item);
      this.#bytes += sizeOf(item);
    }
  }

  /** What the model made: it is known to the worker that made it, so it is not fresh in the next call. */
  appendKnown(items: Item[]): void {
    this.append(...items);
    this.#known = this.#items.length;
    this.#made.clear();
  }

  /**
   * Puts a summary in the place of the items before `keepFrom`. Those stay to be read, in this run of the workflow.
   *
   * @param messages which of the replaced ones stand before the summary
   */
  replace(keepFrom: number, messages: readonly UserMessage[], summary: Summary, runId: string): void {
    const gone = this.#items.slice(behindSummary(this.#items).index, keepFrom);
    const kept = this.#items.slice(keepFrom);
    const stands = [...messages, summary];
    this.#replaced.push(...gone);
    const here = this.#replacedIn.at(-1);
    if (here?.run_id === runId) here.items += gone.length;
    else this.#replacedIn.push({ run_id: runId, items: gone.length });
    this.#before = Math.max(stands.length, this.#before - keepFrom + stands.length);
    this.#items = [];
    this.#digest = EMPTY_DIGEST;
    this.#bytes = 0;
    this.#known = 0;
    this.#made.clear();
    this.append(...stands, ...kept);
    this.compact = undefined;
    this.notCompacted = undefined;
  }

  /** From here on what comes belongs to another turn. */
  beginTurn(): void {
    this.#before = this.#items.length;
  }

  /** What has come since the turn began. */
  get ofTurn(): readonly Item[] {
    return this.#items.slice(this.#before);
  }

  callOf(callId: string): ToolCall | undefined {
    return this.#items.findLast(
      (item): item is ToolCall => item.type === 'tool_call' && item.call_id === callId,
    );
  }

  /** The output of this call came from a worker, which remembers it: the next model call need not repeat it. */
  madeByWorker(callId: string): void {
    this.#made.add(callId);
  }

  /** Calls that a life which ended abruptly has left without an output get one, or no provider takes the items. */
  mend(): void {
    const answered = new Set(
      this.#items.flatMap((item) => (item.type === 'tool_output' ? [item.call_id] : [])),
    );
    const lost = this.#items.filter((item) => item.type === 'tool_call' && !answered.has(item.call_id));
    for (const call of lost) {
      if (call.type !== 'tool_call') continue;
      const output = refusalOutput({
        code: 'outcome_unknown',
        message: `It is unknown whether ${call.name} had its effect: the agent ended before its answer came.`,
        hint: 'Look at what is there before you try again.',
      });
      this.append({ type: 'tool_output', call_id: call.call_id, output, success: false });
    }
  }

  /** The newest of them, as far as they fit: whoever lacks the others reads them from the agent. */
  get fresh(): FreshItem[] {
    const fresh = this.#items.slice(this.#known).map((item) => this.#withoutText(item));
    let bytes = 0;
    const tooMany = fresh.findLastIndex((item, index) => {
      bytes += jsonBytes(item);
      return bytes > FRESH_BYTES && index < fresh.length - 1;
    });
    return fresh.slice(tooMany + 1);
  }

  get items(): readonly Item[] {
    return this.#items;
  }

  /** Size as JSON. */
  get bytes(): number {
    return this.#bytes;
  }

  #withoutText(item: Item): FreshItem {
    if (item.type !== 'tool_output' || item.output.length < REFERRED_LENGTH) return item;
    if (!this.#made.has(item.call_id)) return item;
    return { type: 'output_reference', of: { ...item, output: '' } };
  }

  pointer(agentId: AgentId, runId: string): ConversationPointer {
    return { agent_id: agentId, run_id: runId, count: this.#items.length, digest: this.#digest };
  }

  /**
   * Items up to so many bytes of JSON; one that is larger stands alone.
   *
   * @param replaced those that a summary has replaced in this run, instead
   */
  page(from = 0, to?: number, bytes = PAGE_BYTES, replaced = false): ItemsPage {
    const held = replaced ? this.#replaced : this.#items;
    const end = Math.min(to ?? held.length, held.length);
    const items: Item[] = [];
    let size = 0;
    let index = Math.min(from, end);
    for (; index < end; index++) {
      const item = held[index] as Item;
      size += sizeOf(item);
      if (items.length > 0 && size > bytes) break;
      items.push(item);
    }
    const page = {
      items,
      from,
      total: held.length,
      compacted: behindSummary(this.#items).replaced.items,
      ...(this.#replacedIn.length === 0 ? {} : { replaced_in: this.#replacedIn }),
    };
    return index < end ? { ...page, next: index } : page;
  }

  get carry(): ConversationCarry {
    return {
      items: this.#items,
      digest: this.#digest,
      known: this.#known,
      bytes: this.#bytes,
      before_turn: this.#before,
      ...(this.#replacedIn.length === 0 ? {} : { replaced_in: this.#replacedIn }),
      ...(this.compact === undefined ? {} : { compact: this.compact }),
      ...(this.notCompacted === undefined ? {} : { not_compacted: this.notCompacted }),
    };
  }
}

/** Bytes of an item as JSON, with the comma that parts it from the next. */
function sizeOf(item: Item): number {
  return jsonBytes(item) + 1;
}
