import type OpenAI from 'openai';
import { APIError, NotFoundError } from 'openai';
import type { Item } from '../../../protocol/index.ts';
import { ModelError } from '../model-error.ts';
import { CallImages, ImageMemory } from './call-images.ts';
import { completeByChat } from './chat.ts';
import { clientOf, type Endpoint, shownUrl } from './endpoint.ts';
import { type Extra, refusedExtra } from './extras.ts';
import { isUnknownModel, modelError } from './failures.ts';
import { IdleWatch } from './idle-watch.ts';
import type { CallOptions, ModelCall, ModelProvider, ModelReply } from './provider.ts';
import { completeByResponses } from './responses.ts';
import type { Wire } from './wire.ts';

const WIRES = { responses: completeByResponses, chat: completeByChat };
const IDLE_MS = 300_000;

/** Models of an OpenAI-compatible API. Remembers, for this process, what the API turned out to take. */
export class HttpProvider implements ModelProvider {
  readonly #endpoint: Endpoint;
  readonly #client: OpenAI;
  readonly #idleMs: number;
  readonly #listModels: () => Promise<string[]>;
  /** Parts of requests that a model has refused, by model. */
  readonly #without = new Map<string, Set<Extra>>();
  readonly #images = new Map<string, ImageMemory>();
  #learned: 'chat' | undefined;

  /** @param options.idleMs how long a call may be silent before it is given up (default 5 minutes) */
  constructor(
    endpoint: Endpoint,
    options: { listModels: () => Promise<string[]>; idleMs?: number | undefined },
  ) {
    this.#endpoint = endpoint;
    this.#client = clientOf(endpoint);
    this.#listModels = options.listModels;
    this.#idleMs = options.idleMs ?? IDLE_MS;
  }

  async complete(call: ModelCall, options: CallOptions): Promise<ModelReply> {
    const idle = new IdleWatch(options.signal, this.#idleMs);
    try {
      const reply = await this.#byEitherWire(call, { ...options, signal: idle.signal }, () => idle.touch());
      return { ...reply, items: withUniqueCalls(reply.items, call.items) };
    } catch (error) {
      options.signal.throwIfAborted();
      throw (
        idle.error(`${this.#endpoint.provider} (${shownUrl(this.#endpoint.baseUrl)})`) ??
        (await this.#explain(error, call))
      );
    } finally {
      idle.stop();
    }
  }

  /** Responses, unless told otherwise; where there is none, chat, and from then on chat at once. */
  async #byEitherWire(call: ModelCall, options: CallOptions, onEvent: () => void): Promise<ModelReply> {
    const wire = this.#endpoint.wireApi ?? this.#learned ?? 'responses';
    try {
      return await this.#byWire(WIRES[wire], call, options, onEvent);
    } catch (error) {
      if (this.#endpoint.wireApi !== undefined || wire === 'chat' || !isMissingRoute(error)) throw error;
      const reply = await this.#byWire(WIRES.chat, call, options, onEvent).catch((second: unknown) => {
        if (isAnswered(second) && !isMissingRoute(second) && !isUnknownModel(second)) this.#learned = 'chat';
        throw second;
      });
      this.#learned = 'chat';
      return reply;
    }
  }

  async #byWire(wire: Wire, call: ModelCall, options: CallOptions, onEvent: () => void): Promise<ModelReply> {
    const remembered = this.#without.get(call.model) ?? new Set();
    const without = new Set(remembered);
    const images = new CallImages(call.items, this.#imagesOf(call.model));
    for (;;) {
      images.begin();
      try {
        const reply = await wire(this.#client, { ...call, images }, { ...options, onEvent, without });
        const warnings = images.answered();
        return warnings.length === 0 ? reply : { ...reply, warnings };
      } catch (error) {
        const extra = refusedExtra(error);
        if (extra === undefined || without.has(extra)) {
          if (images.leaveOut(error, wordsOf(modelError(error, this.#endpoint)))) continue;
          throw error;
        }
        without.add(extra);
        // Reasoning that cannot be read back is a fault of this conversation, not of the model.
        if (extra !== 'reasoning_input') this.#without.set(call.model, remembered.add(extra));
      }
    }
  }

  #imagesOf(model: string): ImageMemory {
    const known = this.#images.get(model) ?? new ImageMemory();
    this.#images.set(model, known);
    return known;
  }

  async #explain(error: unknown, call: ModelCall): Promise<unknown> {
    const explained = modelError(error, this.#endpoint);
    if (!isUnknownModel(error) || !(explained instanceof ModelError)) return explained;
    const models = await this.#listModels().catch(() => []);
    const hint = models.length === 0 ? explained.hint : `Models on offer: ${models.join(', ')}`;
    return new ModelError('model_refused', `${explained.message} (model ${call.model})`, { hint });
  }
}

/** The API has no such address, or takes nothing there; a model that is not known says nothing about that. */
function isMissingRoute(error: unknown): boolean {
  const missing = error instanceof NotFoundError || (error instanceof APIError && error.status === 405);
  return missing && error.code !== 'model_not_found';
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isAnswered(error: unknown): boolean {
  return error instanceof APIError && typeof error.status === 'number';
}

/** Some servers count their call ids from the start in every answer; an output has to find its own call. */
function withUniqueCalls(made: Item[], before: readonly Item[]): Item[] {
  const used = new Set(before.flatMap((item) => (item.type === 'tool_call' ? [item.call_id] : [])));
  return made.map((item) => {
    if (item.type !== 'tool_call') return item;
    let call_id = item.call_id;
    for (let n = 2; used.has(call_id); n++) call_id = `${item.call_id}_${n}`;
    used.add(call_id);
    return { ...item, call_id };
  });
}
