import type { Item } from '../protocol/index.ts';
import {
  behindSummary,
  countAnswers,
  isMade,
  plainText,
  type Replaced,
  textMessage,
  type UserMessage,
} from '../protocol/items.ts';
import { jsonBytes } from './carried-text.ts';
import { cutMiddle } from './cut-middle.ts';

/** The newest items stay as they are, up to so many bytes of JSON, and at most a quarter of the conversation. */
const TAIL_BYTES = 32_000;
/** So do the messages of people and agents, as text: the first one, which is the task, and the newest. */
const MESSAGES_BYTES = 48_000;
/** The least that a cut needs. */
const CUT_LEAST = 200;
/** Below this a conversation is no longer than what would stand in its place. */
const LEAST_BYTES = 4_000;
/** A summary that would replace less than this part of the conversation is not worth a call of the model. */
const WORTH = 0.25;

/** What of a conversation a summary is to replace. */
export interface CompactionPlan {
  /** The items from here on stay as they are. */
  keepFrom: number;
  /** Stand before the summary. */
  messages: UserMessage[];
  replaced: Replaced;
}

/**
 * Plans which items a summary replaces: all but the newest, as far as that is worth it.
 *
 * @param bytes of the conversation
 */
export function planCompaction(items: readonly Item[], bytes: number): CompactionPlan | undefined {
  if (bytes < LEAST_BYTES) return undefined;
  const { index: start, replaced: before } = behindSummary(items);
  const most = bytes / 4;
  const keepFrom = tailOf(items, start, Math.min(TAIL_BYTES, most));
  const gone = items.slice(start, keepFrom);
  if (gone.length === 0 || jsonBytes(gone) < bytes * WORTH) return undefined;
  const said = items.slice(0, keepFrom).filter((item) => item.type === 'user_message');
  const inputs = gone.filter((item) => item.type === 'user_message').length;
  const lastInput = gone.findLastIndex((item) => item.type === 'user_message');
  const since = countAnswers(gone.slice(lastInput + 1));
  return {
    keepFrom,
    messages: inOwnWords(said, Math.min(MESSAGES_BYTES, most)),
    replaced: {
      items: before.items + gone.length,
      user_messages: before.user_messages + inputs,
      answers: before.answers + countAnswers(gone),
      answers_since: lastInput < 0 ? before.answers_since + since : since,
    },
  };
}

/** Where the newest items begin that stay; what a model has made in one go, and its outputs, are not parted. */
function tailOf(items: readonly Item[], start: number, most: number): number {
  let bytes = 0;
  let from = items.length;
  for (let index = items.length - 1; index >= start; index--) {
    bytes += jsonBytes(items[index]) + 1;
    if (bytes > most) break;
    if (isBoundary(items, index)) from = index;
  }
  return from;
}

function isBoundary(items: readonly Item[], index: number): boolean {
  const item = items[index];
  const before = items[index - 1];
  if (item === undefined || item.type === 'tool_output') return false;
  return !isMade(item) || before === undefined || !isMade(before);
}

/** A message that takes more than half of the room is cut in the middle. */
function inOwnWords(messages: readonly UserMessage[], most: number): UserMessage[] {
  // Images are text here: what a model has seen in them stands in the summary.
  const [first, ...others] = messages.map(({ content, from }) =>
    textMessage(cutMiddle(plainText(content), Math.max(CUT_LEAST, most / 2)), from),
  );
  if (first === undefined) return [];
  let room = most - jsonBytes(first);
  const tooOld = others.findLastIndex((message) => {
    room -= jsonBytes(message);
    return room < 0;
  });
  return [first, ...others.slice(tooOld + 1)];
}
