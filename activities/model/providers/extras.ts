import { APIError } from 'openai';

/** Parts of a request that are good to have and that not every model or server takes. */
export type Extra =
  | 'encrypted_reasoning'
  | 'reasoning_summary'
  | 'cache_key'
  | 'stream_usage'
  | 'reasoning_input';

/** How a provider names the part that it does not take: as `param`, or in its message. */
const NAMES: Record<Extra, RegExp> = {
  reasoning_input: /invalid_encrypted_content|could not be verified/i,
  reasoning_summary: /reasoning\.summary|reasoning summar/i,
  encrypted_reasoning: /^include\b|reasoning\.encrypted_content|encrypted content is not supported/i,
  cache_key: /prompt_cache_key/i,
  stream_usage: /stream_options|include_usage/i,
};

/**
 * The part of a request that was refused and can be left out, so that the same call works without it. Nothing that
 * changes what was asked for (model, effort, tools) is ever among them.
 */
export function refusedExtra(error: unknown): Extra | undefined {
  if (!(error instanceof APIError) || (error.status !== 400 && error.status !== 422)) return undefined;
  const texts = [error.param, error.code, error.message].filter((text): text is string => Boolean(text));
  return (Object.keys(NAMES) as Extra[]).find((extra) => texts.some((text) => NAMES[extra].test(text)));
}
