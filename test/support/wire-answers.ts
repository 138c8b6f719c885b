import type { SeenRequest } from './wire-requests.ts';

/** What a scripted model says to one request. */
export interface ScriptedAnswer {
  text?: string;
  reasoning?: string;
  /** A search by the provider's own tool. */
  search?: string;
  /** A command in the provider's own form of a call; without `call_id`, the item's id alone. */
  localShell?: { call_id?: string } & Record<string, unknown>;
  /** Where an `id` is empty, the item's id alone. */
  calls?: { name: string; arguments: unknown; id?: string }[];
  usage?: { input?: number; cached?: number; output?: number; reasoning?: number };
}

type Usage = Required<NonNullable<ScriptedAnswer['usage']>>;

let made = 0;

/** The events of an answer in the format that it was asked in, each as the text of one server-sent event. */
export function answerEvents(request: SeenRequest, answer: ScriptedAnswer): string[] {
  made += 1;
  if (request.wire === 'chat') return chatEvents(request, answer);
  return responsesEvents(request, answer).map(
    (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
  );
}

/** The body of an answer of the Responses API to a request that does not ask for a stream. */
export function answerBody(request: SeenRequest, answer: ScriptedAnswer): unknown {
  made += 1;
  return responsesEvents(request, answer).at(-1)?.response;
}

function responsesEvents(request: SeenRequest, answer: ScriptedAnswer): Record<string, unknown>[] {
  const events: Record<string, unknown>[] = [];
  const send = (type: string, fields: object) =>
    events.push({ type, sequence_number: events.length, ...fields });
  const response = { id: `resp_${made}`, object: 'response', model: request.model, output: [] as unknown[] };
  send('response.created', { response: { ...response, status: 'in_progress' } });
  const add = (
    item: Record<string, unknown>,
    stream: (at: { output_index: number; item_id: unknown }) => void,
  ) => {
    const at = { output_index: response.output.length, item_id: item.id };
    send('response.output_item.added', { ...at, item: { ...item, status: 'in_progress' } });
    stream(at);
    send('response.output_item.done', { ...at, item });
    response.output.push(item);
  };
  if (answer.reasoning !== undefined) {
    const summary = [{ type: 'summary_text', text: answer.reasoning }];
    add(
      { type: 'reasoning', id: `rs_${made}`, summary, encrypted_content: `sealed ${answer.reasoning}` },
      () => {},
    );
  }
  if (answer.search !== undefined) {
    const action = { type: 'search', query: answer.search };
    add({ type: 'web_search_call', id: `ws_${made}`, status: 'completed', action }, () => {});
  }
  if (answer.text !== undefined) {
    const content = [{ type: 'output_text', text: answer.text, annotations: [] }];
    add({ type: 'message', id: `msg_${made}`, role: 'assistant', status: 'completed', content }, (at) => {
      for (const delta of pieces(answer.text ?? '')) {
        send('response.output_text.delta', { ...at, content_index: 0, delta, logprobs: [] });
      }
    });
  }
  if (answer.localShell !== undefined) {
    const { call_id, ...action } = answer.localShell;
    const called = call_id === undefined ? {} : { call_id };
    add({ type: 'local_shell_call', id: `lsh_${made}`, ...called, status: 'completed', action }, () => {});
  }
  for (const call of callsOf(answer)) {
    const id = `fc_${made}_${call.index}`;
    const called = call.id === '' ? {} : { call_id: call.id };
    const item = { type: 'function_call', id, ...called, name: call.name, arguments: call.arguments };
    add({ ...item, status: 'completed' }, (at) => {
      send('response.function_call_arguments.delta', { ...at, delta: call.arguments });
    });
  }
  const { input, cached, output, reasoning } = usageOf(request, answer);
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
  send('response.completed', { response: { ...response, status: 'completed', usage } });
  return events;
}

function chatEvents(request: SeenRequest, answer: ScriptedAnswer): string[] {
  const head = { id: `chatcmpl-${made}`, object: 'chat.completion.chunk', created: 1, model: request.model };
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  });
  const chunks: object[] = [chunk({ role: 'assistant', content: answer.text === undefined ? null : '' })];
  if (answer.reasoning !== undefined) chunks.push(chunk({ reasoning_content: answer.reasoning }));
  for (const content of pieces(answer.text ?? '')) chunks.push(chunk({ content }));
  for (const call of callsOf(answer)) {
    const { index, id, name } = call;
    const [start = '', ...rest] = pieces(call.arguments);
    const tool = { index, id, type: 'function', function: { name, arguments: start } };
    chunks.push(chunk({ tool_calls: [tool] }));
    for (const more of rest) chunks.push(chunk({ tool_calls: [{ index, function: { arguments: more } }] }));
  }
  chunks.push(chunk({}, (answer.calls ?? []).length > 0 ? 'tool_calls' : 'stop'));
  const options = request.body.stream_options as { include_usage?: boolean } | undefined;
  if (options?.include_usage)
    chunks.push({ ...head, choices: [], usage: chatUsage(usageOf(request, answer)) });
  return [...chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`), 'data: [DONE]\n\n'];
}

function chatUsage({ input, cached, output, reasoning }: Usage): object {
  return {
    prompt_tokens: input,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens: output,
    completion_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

function callsOf(answer: ScriptedAnswer) {
  return (answer.calls ?? []).map((call, index) => ({
    index,
    id: call.id ?? `call_${made}_${index}`,
    name: call.name,
    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
  }));
}

/** Four characters a token, unless the answer says how many. */
function usageOf(request: SeenRequest, answer: ScriptedAnswer): Usage {
  const size = (value: unknown) => Math.ceil(JSON.stringify(value ?? '').length / 4);
  return {
    input: answer.usage?.input ?? size(request.body),
    cached: answer.usage?.cached ?? 0,
    output: answer.usage?.output ?? size(answer),
    reasoning: answer.usage?.reasoning ?? 0,
  };
}

/** A text in up to three pieces, as it would stream. */
function pieces(text: string): string[] {
  const length = Math.ceil(text.length / 3);
  return text === '' ? [] : [0, 1, 2].map((n) => text.slice(n * length, (n + 1) * length)).filter(Boolean);
}
