import { type Stored, whereStored } from '../../protocol/cut-mark.ts';
import type { AssistantMessage, ErrorBody, Item, ToolCall } from '../../protocol/index.ts';
import { estimateTokens } from '../../protocol/output-size.ts';
import { cutOutput } from '../handles/cut-output.ts';

/**
 * What one answer may hold, in bytes of JSON: Temporal takes 2 MiB, and what operations are asked for stands in it
 * twice, as the model wrote it and checked.
 */
export const ANSWER_BYTES_MAX = 900_000;
/** Of an answer that is larger, each text keeps at most so many bytes. */
const TEXT_BYTES_MAX = 256 * 1024;
/** A text, or a call without its arguments, needs room for what is said of it. */
const LEAST_ROOM = 4_000;
/** A model learns from a few refusals what it would learn from thousands. */
const REFUSED_MAX = 20;

export interface FittedAnswer {
  items: Item[];
  /** Calls that lost their arguments, and so cannot be carried out. */
  refused: ReadonlyMap<ToolCall, ErrorBody>;
}

/**
 * Makes an answer fit into one payload: a result that does not would fail the call, and the work of the model would be
 * lost. Long texts are cut in the middle, and calls with long arguments refused, so that the model can ask again in
 * parts; the whole of each is stored.
 */
export async function fitAnswer(
  items: Item[],
  store: (text: string) => Promise<Stored>,
): Promise<FittedAnswer> {
  const refused = new Map<ToolCall, ErrorBody>();
  if (items.reduce((sum, item) => sum + sizeOf(item), 0) <= ANSWER_BYTES_MAX) return { items, refused };
  const fitted: Item[] = [];
  let room = ANSWER_BYTES_MAX - REFUSED_MAX * LEAST_ROOM;
  const keep = (item: Item): void => {
    fitted.push(item);
    room -= sizeOf(item);
  };
  let dropped = 0;
  for (const item of items) {
    const most = Math.min(room, TEXT_BYTES_MAX);
    if (item.type === 'tool_call' && sizeOf(item) > room) {
      if (refused.size >= REFUSED_MAX) {
        dropped++;
        continue;
      }
      const call = { ...item, name: item.name.slice(0, 200), arguments: '{}' };
      refused.set(call, tooLarge(item, await store(item.arguments)));
      fitted.push(call);
    } else if (item.type === 'assistant_message' && sizeOf(item) > most) {
      if (room >= LEAST_ROOM) keep(cutTo(most, item, await store(item.text)));
    } else if (sizeOf(item) <= room) {
      // What a provider has sealed is of no use in part.
      keep(item);
    }
  }
  const last = [...refused.keys()].at(-1);
  const error = last === undefined ? undefined : refused.get(last);
  if (last !== undefined && error !== undefined && dropped > 0) {
    const message = `${error.message} ${dropped} more calls of that answer were left out.`;
    refused.set(last, { ...error, message });
  }
  return { items: fitted, refused };
}

function cutTo(most: number, item: AssistantMessage, stored: Stored): AssistantMessage {
  // Characters that JSON has to escape take more bytes there than in the text.
  for (let bytes = most; ; bytes /= 2) {
    const cut = { ...item, text: cutOutput(item.text, estimateTokens(Math.floor(bytes)), stored) };
    if (sizeOf(cut) <= most || bytes < LEAST_ROOM / 2) return cut;
  }
}

function tooLarge({ name, arguments: text }: ToolCall, stored: Stored): ErrorBody {
  const size = `${(Buffer.byteLength(text) / 1e6).toFixed(2)} MB`;
  return {
    code: 'invalid_arguments',
    message: `${name.slice(0, 200)} was not run: with its arguments (${size}${whereStored(stored)}) the answer is larger than one may be, ${ANSWER_BYTES_MAX / 1e6} MB in all.`,
    hint: 'Do it in smaller parts, one call after the other.',
    retryable: false,
  };
}

function sizeOf(item: Item): number {
  return Buffer.byteLength(JSON.stringify(item)) + 1;
}
