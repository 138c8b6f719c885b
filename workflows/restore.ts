import { defineQuery, setHandler } from '@temporalio/workflow';
import type {
  AgentId,
  AgentInput,
  ErrorBody,
  Item,
  ItemsPage,
  Restore,
  SnapshotPage,
  SnapshotRequest,
} from '../protocol/index.ts';
import { nextLife } from '../protocol/lives.ts';
import { type ItemsQuery, QUERIES } from '../protocol/messages.ts';
import { fittingNote } from '../protocol/note.ts';
import { bodyOf, readItems, readSnapshot, terminateAgents } from './activity-calls.ts';
import type { AgentState } from './agent-state.ts';
import type { AgentCarry } from './carry.ts';

/** Bringing agents back, and new ones up, from what an earlier run holds. */

/** What a run begins with. */
export interface Past {
  /** What the run before has carried over, or an earlier life has left. */
  carry?: AgentCarry | undefined;
  /** The items that a fork starts with. */
  forked?: Item[];
  /** Why the agent cannot be what it was to be. */
  problem?: ErrorBody;
}

export async function recall(input: AgentInput<AgentCarry>): Promise<Past> {
  const { carry, restore, identity } = input;
  if (carry !== undefined || restore === undefined) return { carry };
  // Ended in the middle of this, it can still be brought back.
  setHandler(defineQuery(QUERIES.snapshot), () => unrestoredPage(input, restore));
  try {
    if (restore.kind === 'fork') return { forked: await forkedItems(restore) };
    return { carry: await lastLife(identity.agent_id, restore) };
  } catch (error) {
    // Of a root that cannot be read, nobody knows whether it had closed.
    if (identity.parent_id === undefined) await endRest(identity.agent_id, []).catch(() => {});
    return { problem: bodyOf(error) };
  }
}

async function lastLife(
  agent_id: AgentId,
  { run_id, reports = 0 }: Extract<Restore, { kind: 'resume' }>,
): Promise<AgentCarry> {
  const run = { agent_id, run_id };
  const { state, total } = await readSnapshot(run);
  const left = state as AgentCarry;
  // A root starts again by itself, so nobody else has ended what works on below one that did not close.
  if (left.tree !== undefined && !left.standing.closed) {
    const open = left.tree.reports.filter(({ view }) => !view.closed).map(({ view }) => view.agent_id);
    await endRest(agent_id, open);
  }
  const items = await conversation(run, total);
  return {
    ...left,
    conversation: { ...left.conversation, items },
    counters: { ...left.counters, reports: nextLife(Math.max(left.counters.reports, reports)) },
  };
}

async function forkedItems({ agent_id, run_id, to, notice }: Extract<Restore, { kind: 'fork' }>) {
  const items = await conversation({ agent_id, run_id }, to);
  return notice === undefined ? items : [...items, { type: 'notice', text: notice } as const];
}

/** In parts that fit into the result of an activity each. */
async function conversation(run: SnapshotRequest, to: number): Promise<Item[]> {
  const items: Item[] = [];
  while (items.length < to) {
    const part = await readItems({ ...run, from: items.length, to });
    items.push(...part.items);
  }
  return items;
}

/** Ends what still runs below a root that was ended from outside, before it comes back: nobody would know of it. */
async function endRest(agent: AgentId, known: AgentId[]): Promise<void> {
  await terminateAgents({
    agent_id: agent,
    reason: `${agent} was ended from outside, and is about to be resumed`,
    only_below: true,
    known,
  });
}

/** It ends with the reason, for whoever looks at it; what it was stays where it is, to be tried again. */
export function giveUp(agent: AgentState, wanted: AgentInput, { code, message }: ErrorBody): void {
  const { restore, input } = wanted;
  agent.unrestored = restore;
  const note = fittingNote(wanted.note ?? '');
  if (note !== undefined) agent.standing.setNote(note, Date.now());
  if (input !== undefined) agent.inbox.accept(input);
  agent.conversation.append(...agent.inbox.drain());
  const reason = `It could not be brought back: ${message}`;
  agent.standing.endTurn('errored', reason, code, Date.now());
  agent.ended = { turn: agent.standing.turn, status: 'errored', message: reason, duration_ms: 0 };
  agent.emitOwnStatus();
  agent.closing = { reason, keepStatus: true };
}

/** A page of the `snapshot` query; the state stands on the first one only. */
export function snapshotPage(agent: AgentState, { from = 0, to, bytes }: ItemsQuery): SnapshotPage {
  const { identity, settings, session, standing, children, conversation, unrestored } = agent;
  const { carry } = agent;
  return {
    identity,
    settings,
    ...(session === undefined ? {} : { session }),
    status: standing.status,
    closed: standing.closed,
    ...(standing.note === undefined ? {} : { note: standing.note }),
    open_children: children.lastOpen,
    reports: carry.counters.reports,
    ...(unrestored === undefined ? {} : { unrestored }),
    state: from > 0 ? null : { ...carry, conversation: { ...carry.conversation, items: [] } },
    page: conversation.page(from, to, bytes),
  };
}

function unrestoredPage(
  { identity, settings, session, note }: AgentInput,
  unrestored: Restore,
): SnapshotPage {
  const page: ItemsPage = { items: [], from: 0, total: 0, compacted: 0 };
  const reports = unrestored.kind === 'resume' ? nextLife(unrestored.reports ?? 0) : 0;
  return {
    identity,
    settings,
    ...(session === undefined ? {} : { session }),
    ...(note === undefined ? {} : { note }),
    status: 'pending_init',
    closed: false,
    open_children: [],
    reports,
    unrestored,
    state: null,
    page,
  };
}
