import type { Mail } from '../protocol/index.ts';

/** What handlers leave for the agent to act on. */
export type Order =
  | { type: 'mail'; mail: Mail }
  | { type: 'interrupt'; reason: string }
  | { type: 'report' }
  | { type: 'shutdown'; reason: string };
