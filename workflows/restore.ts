import type { AgentInput, Item, SnapshotPage } from '../protocol/index.ts';
import { readItems, readSnapshot } from './activity-calls.ts';
import type { AgentState } from './agent-state.ts';
import type { AgentCarry } from './carry.ts';

/** Bringing agents back, and new ones up, from what an earlier run holds. */

/** What a new run begins with: what the run before has carried over, or what an earlier life has left. */
export async function carryOf(input: AgentInput<AgentCarry>): Promise<AgentCarry | undefined> {
  const { carry, restore, identity } = input;
  if (carry !== undefined || restore?.kind !== 'resume') return carry;
  const { state, items } = await readSnapshot({ agent_id: identity.agent_id, run_id: restore.run_id });
  const left = state as AgentCarry;
  return { ...left, conversation: { ...left.conversation, items } };
}

/** The items that a fork starts with. */
export async function forkedItems(input: AgentInput<AgentCarry>): Promise<Item[]> {
  const { carry, restore } = input;
  if (carry !== undefined || restore?.kind !== 'fork') return [];
  const { agent_id, run_id, to } = restore;
  const { items } = await readItems({ agent_id, run_id, to });
  return restore.notice === undefined ? items : [...items, { type: 'notice', text: restore.notice }];
}

/** A page of the `snapshot` query; the state stands on the first one only. */
export function snapshotPage(agent: AgentState, from = 0, to?: number): SnapshotPage {
  const { identity, settings, session, standing, children, conversation } = agent;
  const { carry } = agent;
  return {
    identity,
    settings,
    ...(session === undefined ? {} : { session }),
    status: standing.status,
    closed: standing.closed,
    ...(standing.note === undefined ? {} : { note: standing.note }),
    open_children: children.closedAlong,
    state: from > 0 ? null : { ...carry, conversation: { ...carry.conversation, items: [] } },
    page: conversation.page(from, to),
  };
}
