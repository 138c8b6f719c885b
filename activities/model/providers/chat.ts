import { randomUUID } from 'node:crypto';
import type {
  ChatCompletionChunk,
  ChatCompletionCreateParamsStreaming,
} from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import { type Item, noUsage, type ToolCall, type Usage } from '../../../protocol/index.ts';
import { BrokenAnswer, CutAnswer } from './broken-answer.ts';
import { chatMessages, REASONING_FIELDS, type ReasoningField } from './chat-messages.ts';
import { outputFormat } from './output-format.ts';
import type { ModelCall } from './provider.ts';
import { agentHeaders, type Wire, type WireOptions } from './wire.ts';

type Delta = ChatCompletionChunk.Choice.Delta & Partial<Record<ReasoningField, string | null>>;

/** One call of Chat Completions, as OpenAI and the many servers that speak like it take it. */
export const completeByChat: Wire = async (client, call, options) => {
  const { signal, onDelta, onEvent } = options;
  const body = await requestBody(call, options.without);
  const stream = await client.chat.completions.create(body, { signal, headers: agentHeaders(call) });
  const answer = new Answer();
  let usage = noUsage;
  let seen = false;
  let finish: string | undefined;
  for await (const chunk of stream) {
    seen = true;
    onEvent();
    if (chunk.usage) usage = usageOf(chunk.usage);
    const choice = chunk.choices?.[0];
    if (choice === undefined) continue;
    const text = answer.add(choice.delta ?? {});
    if (text !== '') onDelta(text);
    finish = choice.finish_reason ?? finish;
  }
  signal.throwIfAborted();
  if (finish === undefined) throw new BrokenAnswer(!seen);
  if (finish === 'length' || finish === 'content_filter') throw new CutAnswer(finish, answer.text);
  return { items: answer.items, usage, ...(call.web_search ? { without_search: true } : {}) };
};

async function requestBody(
  call: ModelCall,
  without: WireOptions['without'],
): Promise<ChatCompletionCreateParamsStreaming> {
  return {
    model: call.model,
    messages: await chatMessages(call.instructions, call.items, call),
    stream: true,
    ...(without.has('stream_usage') ? {} : { stream_options: { include_usage: true } }),
    ...(call.reasoning_effort === undefined ? {} : { reasoning_effort: call.reasoning_effort }),
    ...(call.output_schema === undefined
      ? {}
      : { response_format: { type: 'json_schema', json_schema: outputFormat(call.output_schema) } }),
    ...(call.tools.length === 0
      ? {}
      : { tools: call.tools.map((tool) => ({ type: 'function', function: { ...tool } })) }),
  };
}

/** An answer as it grows from its pieces. */
class Answer {
  text = '';
  #reasoning = '';
  #field: ReasoningField | undefined;
  readonly #calls: { index: number; call: ToolCall }[] = [];

  /** Returns the text that this piece brought. */
  add(delta: Delta): string {
    const text = `${delta.content ?? ''}${delta.refusal ?? ''}`;
    this.text += text;
    const field = REASONING_FIELDS.find((name) => delta[name]);
    if (field !== undefined) {
      this.#field ??= field;
      this.#reasoning += delta[field];
    }
    for (const piece of delta.tool_calls ?? []) this.#addCall(piece);
    return text;
  }

  get items(): Item[] {
    const items: Item[] = [];
    if (this.#field !== undefined) {
      items.push({ type: 'reasoning', summary: this.#reasoning, provider: { chat_field: this.#field } });
    }
    if (this.text !== '') items.push({ type: 'assistant_message', text: this.text });
    items.push(...this.#calls.map(({ call }) => call));
    return items;
  }

  /** Some servers give every call the same index, some none: a new id means a new call all the same. */
  #addCall(piece: ChatCompletionChunk.Choice.Delta.ToolCall): void {
    const last = this.#calls.at(-1);
    const index = piece.index ?? last?.index ?? 0;
    const known = this.#calls.findLast((each) => each.index === index);
    const isNew =
      known === undefined || (piece.id && piece.id !== known.call.call_id && piece.function?.name);
    if (isNew) {
      const call_id = piece.id || `call_${randomUUID().replaceAll('-', '')}`;
      const call: ToolCall = { type: 'tool_call', call_id, name: '', arguments: '' };
      this.#calls.push({ index, call });
      this.#grow(call, piece);
    } else {
      this.#grow(known.call, piece);
    }
  }

  #grow(call: ToolCall, piece: ChatCompletionChunk.Choice.Delta.ToolCall): void {
    call.name += piece.function?.name ?? '';
    call.arguments += piece.function?.arguments ?? '';
  }
}

function usageOf(usage: CompletionUsage): Usage {
  const input_tokens = usage.prompt_tokens ?? 0;
  const output_tokens = usage.completion_tokens ?? 0;
  return {
    input_tokens,
    cached_input_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    output_tokens,
    reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
    total_tokens: usage.total_tokens ?? input_tokens + output_tokens,
  };
}
