import { z } from 'zod';
import type { Item, Usage } from '../../protocol/index.ts';
import { ModelError } from './model-error.ts';
import type { ModelProvider, ModelReply } from './providers/provider.ts';

const text = z.string();
const itemsSchema = z.array(
  z.discriminatedUnion('type', [
    z.looseObject({ type: z.literal('assistant_message'), text }),
    z.looseObject({
      type: z.literal('reasoning'),
      summary: text,
      provider: z.record(z.string(), z.unknown()).optional(),
    }),
    z.looseObject({ type: z.literal('tool_call'), call_id: text.min(1), name: text, arguments: text }),
  ]),
);

/** Budgets are counted by it, where one figure that is none would spoil all that follow. */
const count = z.int().nonnegative().catch(0);
const usageSchema = z.object({
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
  total_tokens: count,
});

/**
 * A provider whose replies are what they are said to be: types say what servers should send, and an agent would stand
 * still over what is something else. Such an answer is `model_answer_unreadable`; tokens that are no number count as 0.
 */
export function checkedProvider(provider: ModelProvider): ModelProvider {
  return { complete: async (call, options) => checkedReply(await provider.complete(call, options)) };
}

function checkedReply(reply: ModelReply): ModelReply {
  const items = itemsSchema.safeParse(reply.items);
  if (!items.success) {
    const [issue] = items.error.issues;
    throw new ModelError(
      'model_answer_unreadable',
      `The model's answer is not what an answer has to be: item ${issue?.path.join('.')}: ${issue?.message}`,
      { hint: 'Check that the base URL is that of an OpenAI-compatible API.', retryable: true },
    );
  }
  const usage: Usage = usageSchema.parse(reply.usage);
  const total_tokens = usage.total_tokens || usage.input_tokens + usage.output_tokens;
  return { ...reply, items: items.data as Item[], usage: { ...usage, total_tokens } };
}
