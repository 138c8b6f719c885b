import { vi } from 'vitest';
import { PATIENCE } from './patience.ts';

/** Long, since the machine may be busy with other tests. */
const PATIENCE_MS = 45_000 * PATIENCE;
/** Each look is a query, which is work for the agent's worker. */
const LOOK_EVERY_MS = 150;

/** Runs the check again and again until it passes. */
export function eventually<T>(check: () => Promise<T>, timeout = PATIENCE_MS): Promise<T> {
  return vi.waitFor(check, { timeout, interval: LOOK_EVERY_MS });
}
