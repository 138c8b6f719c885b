import { statSync } from 'node:fs';
import { PLACEHOLDER_TIME } from '../../protocol/placeholders.ts';

/** Whether something is there for good: what stands in for it while commands run beside it does not count. */
export function isThere(path: string): boolean {
  const changed = changedAt(path);
  return changed !== undefined && changed !== PLACEHOLDER_TIME;
}

export function isPlaceholder(path: string): boolean {
  return changedAt(path) === PLACEHOLDER_TIME;
}

/** ms since 1970; undefined of what is missing, or cannot be looked at. */
function changedAt(path: string): number | undefined {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return undefined;
  }
}
