import { matchesGlob } from './glob.ts';
import { ofModel } from './of-model.ts';
import { isOpenAI } from './openai.ts';
import type { ProviderSettings } from './settings.ts';

/**
 * Tokens of input that OpenAI's models take at their ordinary price, by glob; the first that matches counts. Those of
 * the GPT-5 line that take more charge twice as much for all of it.
 */
const OPENAI_WINDOWS: readonly (readonly [string, number])[] = [
  ['gpt-5*', 272_000],
  ['gpt-4.1*', 1_000_000],
  ['gpt-4*', 128_000],
  ['o1*', 200_000],
  ['o3*', 200_000],
  ['o4*', 200_000],
];

/** How full a window may get: what one step adds has to fit into the rest, and so has the summary. */
const NEARLY_FULL = 0.85;

/** How many tokens of a conversation a model takes; undefined where that is not known. */
export function contextWindow(
  provider: string,
  settings: ProviderSettings | undefined,
  model: string,
): number | undefined {
  const configured = ofModel(settings?.context_windows ?? {}, model);
  if (configured !== undefined) return configured;
  if (!isOpenAI(provider, settings)) return undefined;
  return OPENAI_WINDOWS.find(([pattern]) => matchesGlob(model, pattern))?.[1];
}

export function isNearlyFull(tokens: number, window: number | undefined): boolean {
  return window !== undefined && tokens >= window * NEARLY_FULL;
}
