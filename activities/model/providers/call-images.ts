import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { APIError } from 'openai';
import { type Item, isMade } from '../../../protocol/index.ts';
import { FailedAnswer } from './broken-answer.ts';
import { isTooLong } from './failures.ts';
import type { InputPart } from './input-part.ts';

/** How many images are remembered, each with the provider's words. */
const MOST_REMEMBERED = 10_000;
/** Of the provider's words, in characters. */
const MOST_SAID = 400;
/** Statuses that may be about an image, where they say so: servers in use also take these. */
const WHERE_NAMED = [404, 415, 500, 501];
/** Statuses that refuse what was sent; not all servers say what of it. */
const REFUSED = [400, 413, 422];

/** What one process has seen of the images that it sent to a model, by what tells them apart. */
export class ImageMemory {
  readonly accepted = new LRUCache<string, true>({ max: MOST_REMEMBERED });
  /** With the provider's words. */
  readonly refused = new LRUCache<string, string>({ max: MOST_REMEMBERED });
  /** One of several that were left out together: nobody knows which of them was refused. */
  readonly suspected = new LRUCache<string, string>({ max: MOST_REMEMBERED });
}

export interface ShownImage {
  url: string;
  /** How a text calls it. */
  name: string;
  sha256?: string | undefined;
}

/**
 * The images of one call of a model. A provider that refuses one refuses each further request of the conversation: so
 * those are left out which no answer has accepted, a text stands in their place, and the call is made again.
 */
export class CallImages {
  readonly #memory: ImageMemory;
  /** Those that came since the model's last answer. */
  readonly #fresh: ReadonlySet<string>;
  readonly #leftOut = new Map<string, { name: string; said: string; isCertain: boolean }>();
  /** In the newest request. */
  #sent = new Map<string, string>();
  #tried: string | undefined;
  /** Those that were left out last. */
  #newest: readonly string[] = [];

  constructor(items: readonly Item[], memory: ImageMemory) {
    this.#memory = memory;
    this.#fresh = new Set(items.slice(items.findLastIndex(isMade) + 1).flatMap(keysOf));
  }

  /** Called before each request. */
  begin(): void {
    this.#sent = new Map();
    this.#tried = undefined;
  }

  /** An image as this request has it. */
  shown(image: ShownImage): InputPart {
    const { url, name } = image;
    const key = keyOf(image);
    const said = this.#leftOut.get(key)?.said ?? this.#memory.refused.get(key) ?? this.#suspicion(key);
    if (said !== undefined) {
      return { kind: 'text', text: `[${name} is not shown, since a request with it was refused: ${said}]` };
    }
    this.#sent.set(key, name);
    return { kind: 'image', url };
  }

  /** Of those under suspicion one is tried at a time, so that it turns out which it is. */
  #suspicion(key: string): string | undefined {
    const said = this.#memory.suspected.get(key);
    if (said === undefined) return undefined;
    this.#tried ??= key;
    return this.#tried === key ? undefined : said;
  }

  /**
   * Leaves images out of the next request, where it may help.
   *
   * @param said the provider's words, fit to be shown
   * @returns whether there is a next request
   */
  leaveOut(error: unknown, said: string): boolean {
    const refusal = refusalIn(error);
    if (refusal === undefined) return false;
    const sent = [...this.#sent.keys()];
    const unknown = sent.filter((key) => !this.#memory.accepted.has(key));
    const fresh = unknown.filter((key) => this.#fresh.has(key));
    const choices = [fresh, unknown, refusal === 'of an image' ? sent : []];
    const chosen = choices.find((keys) => keys.length > 0) ?? [];
    const isCertain = unknown.length === 1;
    for (const key of chosen) {
      const name = this.#sent.get(key) ?? '';
      this.#leftOut.set(key, { name, said: said.slice(0, MOST_SAID), isCertain });
      this.#memory.accepted.delete(key);
    }
    this.#newest = chosen;
    return chosen.length > 0;
  }

  /**
   * Called when the newest request was answered.
   *
   * @returns what people are to be told
   */
  answered(): string[] {
    const { accepted, refused, suspected } = this.#memory;
    for (const key of this.#sent.keys()) {
      accepted.set(key, true);
      suspected.delete(key);
    }
    for (const [key, { said, isCertain }] of this.#leftOut) {
      suspected.delete(key);
      const isIt = isCertain || (this.#newest.length === 1 && this.#newest[0] === key);
      (isIt ? refused : suspected).set(key, said);
    }
    return [...this.#leftOut.values()].map(
      ({ name, said }) => `The model was not shown ${name}, since a request with it was refused: ${said}`,
    );
  }
}

function refusalIn(error: unknown): 'of an image' | 'of something' | undefined {
  if (error instanceof FailedAnswer) {
    return namesImage(`${error.code} ${error.message}`) ? 'of an image' : undefined;
  }
  if (!(error instanceof APIError) || typeof error.status !== 'number') return undefined;
  const isRefused = REFUSED.includes(error.status);
  if (!isRefused && !WHERE_NAMED.includes(error.status)) return undefined;
  const text = `${error.param} ${error.code} ${error.message}`;
  if (namesImage(text)) return 'of an image';
  return isRefused && !isTooLong(text) ? 'of something' : undefined;
}

function namesImage(text: string): boolean {
  return /image|multimodal|vision|mmproj/i.test(text);
}

/** The digest of a file is known without reading it. */
function keyOf({ sha256, url }: Pick<ShownImage, 'sha256' | 'url'>): string {
  return sha256 ?? createHash('sha256').update(url).digest('hex');
}

function keysOf(item: Item): string[] {
  if (item.type === 'tool_output') return item.image === undefined ? [] : [item.image.sha256];
  if (item.type !== 'user_message') return [];
  return item.content.flatMap((part) => {
    if (part.type === 'image') return [keyOf({ url: part.image_url })];
    return part.type === 'local_image' && part.sha256 !== undefined ? [part.sha256] : [];
  });
}
