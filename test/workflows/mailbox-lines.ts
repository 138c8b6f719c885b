import type { Gate } from './gate.ts';
import { call, heard, type Line, outputs, type Say, type Seen, say } from './script.ts';

/** What agents say that speak the mailbox dialect. */

export const open = (goal = 'the goal', more: object = {}): Say => call('subagent_open', { goal, ...more });
/** The ids of the sub-agents that were opened, in order. */
export const opened = (items: Seen['items']): string[] =>
  outputs(items, 'subagent_open').flatMap(({ subagent_id: id }) => id ?? []);
/** @param child which of those that were opened */
export const ask = (message: string, more: object = {}, child = 0): Line => {
  return ({ items }) => call('subagent_reply', { subagent_id: opened(items)[child], message, ...more });
};
export const post = (message: string, child = 0): Line => ask(message, { mode: 'nonblocking' }, child);
export const end = (more: object = {}, child = 0): Line => {
  return ({ items }) => call('subagent_end', { subagent_id: opened(items)[child], ...more });
};
export const gated =
  (gate: Gate, text: string): Line =>
  async () => {
    await gate.opened;
    return say(text);
  };
export const notices = (items: Seen['items']) => heard(items).filter((text) => text.startsWith('notice'));
