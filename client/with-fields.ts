import type { Outcome } from './operate.ts';
import type { CallResult } from './types.ts';

/** The answer of a tool, with its fields where it is a JSON object, so that nobody has to parse what a model reads. */
export function withFields(outcome: Outcome): CallResult {
  try {
    const value: unknown = JSON.parse(outcome.output);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return outcome;
    return { ...outcome, structured: value as Record<string, unknown> };
  } catch {
    return outcome;
  }
}
