import { ofModel } from './of-model.ts';
import { isOpenAI } from './openai.ts';
import type { ProviderSettings, ReasoningEffort } from './settings.ts';

/** `gpt-5.2-2025-12-11` takes what `gpt-5.2` takes. */
const SNAPSHOT = /-\d{4}-\d{2}-\d{2}$/;

const UP_TO_HIGH = ['none', 'low', 'medium', 'high'] as const;
const UP_TO_XHIGH = [...UP_TO_HIGH, 'xhigh'] as const;
const UP_TO_MAX = [...UP_TO_XHIGH, 'max'] as const;
const FIRST_LINE = ['minimal', 'low', 'medium', 'high'] as const;

/** As OpenAI's interface says when it refuses one ("Supported values are …"); models that are not here take all. */
const OPENAI_EFFORTS: Readonly<Record<string, readonly ReasoningEffort[]>> = {
  'gpt-5.6-sol': UP_TO_MAX,
  'gpt-5.6-terra': UP_TO_MAX,
  'gpt-5.6-luna': UP_TO_MAX,
  'gpt-5.5': UP_TO_XHIGH,
  'gpt-5.4': UP_TO_XHIGH,
  'gpt-5.3-codex': ['low', 'medium', 'high', 'xhigh'],
  'gpt-5.2': UP_TO_XHIGH,
  'gpt-5.1': UP_TO_HIGH,
  'gpt-5.1-codex': ['low', 'medium', 'high'],
  'gpt-5': FIRST_LINE,
  'gpt-5-mini': FIRST_LINE,
  'gpt-5-nano': FIRST_LINE,
  'gpt-5-codex': ['low', 'medium', 'high'],
  'gpt-5-pro': ['high'],
};

/**
 * The reasoning efforts that a model takes; undefined where that is not known, and any may be tried. The configuration
 * goes first: the model's own name, then the first glob that matches.
 */
export function acceptedEfforts(
  provider: string,
  settings: ProviderSettings | undefined,
  model: string,
): readonly ReasoningEffort[] | undefined {
  const configured = ofModel(settings?.reasoning_efforts ?? {}, model);
  if (configured !== undefined) return configured;
  if (!isOpenAI(provider, settings)) return undefined;
  const name = model.replace(SNAPSHOT, '');
  return Object.hasOwn(OPENAI_EFFORTS, name) ? OPENAI_EFFORTS[name] : undefined;
}
