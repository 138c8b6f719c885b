import type {
  Response,
  ResponseCreateParamsStreaming,
  ResponseFunctionWebSearch,
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
  ResponseUsage,
  Tool,
} from 'openai/resources/responses/responses';
import { type Item, noUsage, type ToolCall, type Usage } from '../../../protocol/index.ts';
import { BrokenAnswer, CutAnswer, FailedAnswer } from './broken-answer.ts';
import { outputFormat } from './output-format.ts';
import type { ModelCall } from './provider.ts';
import { responsesInput } from './responses-input.ts';
import { agentHeaders, type Wire, type WireOptions } from './wire.ts';

/** Providers refuse longer ones. */
const CACHE_KEY_MAX = 64;

/** One call of the OpenAI Responses API. Nothing is stored there: reasoning travels sealed and is sent back. */
export const completeByResponses: Wire = async (client, call, options) => {
  const { signal, onDelta, onEvent } = options;
  const body = await requestBody(call, options.without);
  const stream = await client.responses.create(body, { signal, headers: agentHeaders(call) });
  const done = new Map<number, ResponseOutputItem>();
  let seen = false;
  for await (const event of stream) {
    seen = true;
    onEvent();
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        onDelta(event.delta);
        break;
      case 'response.output_item.done':
        done.set(event.output_index, event.item);
        break;
      case 'response.completed':
        return {
          items: outputOf(event.response, done).flatMap(toItem),
          usage: usageOf(event.response.usage),
        };
      case 'response.incomplete': {
        const written = outputOf(event.response, done).flatMap(toItem);
        throw new CutAnswer(event.response.incomplete_details?.reason ?? 'incomplete', textOf(written));
      }
      case 'response.failed':
        throw new FailedAnswer(event.response.error?.message ?? 'failed', event.response.error?.code);
      case 'error':
        throw new FailedAnswer(event.message, event.code);
    }
  }
  signal.throwIfAborted();
  throw new BrokenAnswer(!seen);
};

async function requestBody(
  call: ModelCall,
  without: WireOptions['without'],
): Promise<ResponseCreateParamsStreaming> {
  const reasoning = {
    ...(call.reasoning_effort === undefined ? {} : { effort: call.reasoning_effort }),
    ...(without.has('reasoning_summary') ? {} : { summary: 'auto' as const }),
  };
  return {
    model: call.model,
    instructions: call.instructions,
    input: await responsesInput(call.items, call, !without.has('reasoning_input')),
    stream: true,
    store: false,
    ...(Object.keys(reasoning).length === 0 ? {} : { reasoning }),
    ...(without.has('encrypted_reasoning') ? {} : { include: ['reasoning.encrypted_content'] }),
    ...(without.has('cache_key')
      ? {}
      : { prompt_cache_key: (call.cache_key ?? call.agent.id).slice(0, CACHE_KEY_MAX) }),
    ...(call.output_schema === undefined
      ? {}
      : { text: { format: { type: 'json_schema', ...outputFormat(call.output_schema) } } }),
    ...(call.tools.length === 0 && call.web_search !== true
      ? {}
      : { parallel_tool_calls: true, tools: toolsOf(call) }),
  };
}

function toolsOf({ tools, web_search: searches }: ModelCall): Tool[] {
  return [
    ...tools.map((tool) => ({ type: 'function' as const, strict: false, ...tool })),
    ...(searches === true ? [{ type: 'web_search' as const }] : []),
  ];
}

/** The items as they came one by one; some servers only give them at the end, some only one by one. */
function outputOf(response: Response, done: Map<number, ResponseOutputItem>): ResponseOutputItem[] {
  if (done.size === 0) return response.output ?? [];
  return [...done.entries()].toSorted(([a], [b]) => a - b).map(([, item]) => item);
}

function toItem(output: ResponseOutputItem): Item[] {
  switch (output.type) {
    case 'message': {
      const text = messageText(output);
      if (text === '') return [];
      const phase = output.phase ?? undefined;
      return [{ type: 'assistant_message', text, ...(phase === undefined ? {} : { phase }) }];
    }
    case 'function_call':
      return [
        { type: 'tool_call', call_id: callId(output), name: output.name, arguments: output.arguments ?? '' },
      ];
    case 'local_shell_call':
      return [shellCall(output)];
    case 'reasoning':
      return [{ type: 'reasoning', summary: summaryOf(output), provider: withoutStatus(compact(output)) }];
    // Like its thoughts, it is the provider's own, and goes back to it in its place.
    case 'web_search_call':
      return [{ type: 'reasoning', summary: searchedFor(output), provider: compact(output) }];
    default:
      return [];
  }
}

/** Some servers give the id of the item alone. */
function callId({ call_id, id }: { call_id: string; id?: string }): string {
  return call_id || (id ?? call_id);
}

/** Some models call a shell in a form of their own, asked for or not: the same call as one of the function. */
function shellCall(call: ResponseOutputItem.LocalShellCall): ToolCall {
  const { action } = call;
  const { command: words = [], env, working_directory: workdir, timeout_ms } = action ?? {};
  const variables = Object.entries(env ?? {}).map(([name, value]) => `${name}=${value}`);
  const command = variables.length === 0 ? words : ['env', ...variables, ...words];
  return {
    type: 'tool_call',
    call_id: callId(call),
    name: 'shell',
    arguments: JSON.stringify({
      command,
      ...(workdir ? { workdir } : {}),
      ...(timeout_ms ? { timeout_ms } : {}),
    }),
  };
}

function messageText(message: ResponseOutputMessage): string {
  return message.content.map((part) => (part.type === 'refusal' ? part.refusal : part.text)).join('');
}

function summaryOf(reasoning: ResponseReasoningItem): string {
  const summary = (reasoning.summary ?? []).map((part) => part.text).join('\n\n');
  return summary === '' ? (reasoning.content ?? []).map((part) => part.text).join('') : summary;
}

/** What a search was for, for people who watch. */
function searchedFor({ action }: ResponseFunctionWebSearch): string {
  const { query, queries, url } = (action ?? {}) as { query?: string; queries?: string[]; url?: string };
  const what = url ?? query ?? queries?.join('; ') ?? '';
  return `Searched the web${what === '' ? '' : `: ${what}`}`;
}

/** As it came, but for the empty fields. */
function compact(output: ResponseReasoningItem | ResponseFunctionWebSearch): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(output).filter(([, value]) => value !== null && value !== undefined),
  );
}

/** The state of the stream, which providers refuse with a thought in an input. */
function withoutStatus({ status: _, ...kept }: Record<string, unknown>): Record<string, unknown> {
  return kept;
}

function textOf(items: Item[]): string {
  return items.flatMap((item) => (item.type === 'assistant_message' ? [item.text] : [])).join('\n');
}

function usageOf(usage: ResponseUsage | undefined): Usage {
  if (!usage) return noUsage;
  return {
    input_tokens: usage.input_tokens,
    cached_input_tokens: usage.input_tokens_details?.cached_tokens ?? 0,
    output_tokens: usage.output_tokens,
    reasoning_tokens: usage.output_tokens_details?.reasoning_tokens ?? 0,
    total_tokens: usage.total_tokens ?? usage.input_tokens + usage.output_tokens,
  };
}
