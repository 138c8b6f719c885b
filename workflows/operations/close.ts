import { CancellationScope, condition } from '@temporalio/workflow';
import type { Acknowledge, AgentId, NotClosed, Status, WireStatus } from '../../protocol/index.ts';
import { isFinal, wireStatus } from '../../protocol/status.ts';
import { bodyOf, terminateAgents, terminateProblem } from '../activity-calls.ts';
import type { AgentState } from '../agent-state.ts';
import type { Known } from '../known.ts';
import { OUTSIDE } from '../standing.ts';
import { viewsOf } from './list.ts';
import { requireBelow } from './ownership.ts';
import { resolveAgent } from './resolve.ts';
import { releaseBelow, releaseSlot, suspectEnded } from './slot.ts';
import { lose } from './take-answers.ts';
import { uncut } from './uncut.ts';

/** Who does not acknowledge within this time is terminated; a killed worker needs 10 to 15 s to come back. */
const ACKNOWLEDGE_MS = 20_000;
/** A timer that is told later than this was told by a worker that had too much to do. */
const LATE_MS = 1_000;
const MOST_TIMES = 6;

/** What has come of a closing: what was closed, leaf first, and what could not be. */
export interface Closed {
  closed: AgentId[];
  not_closed?: NotClosed[];
}

/** The same of one agent, and how it said that it stood before. */
interface ClosedAgent extends Closed {
  before?: Acknowledge['before'];
}

export interface CloseResult extends Closed {
  /** Before closing. */
  status: WireStatus;
}

/**
 * Closes an agent and all below it, leaf first. Closing a closed agent succeeds and closes nothing.
 *
 * @param how whether it keeps the status that it has ended with; default: it is `shutdown`
 */
export async function close(
  agent: AgentState,
  reference: string,
  callId: string,
  how: { keepStatus?: boolean } = {},
): Promise<CloseResult> {
  const id = await resolveAgent(agent, reference);
  if (id === agent.id) return closeItself(agent);
  requireBelow(agent, id, 'close');
  const known = agent.children.get(id);
  const event = { call_id: callId, sender_id: agent.id, receiver_id: id };
  agent.emit({ type: 'agent.close.begin', ...event });
  const { answer, stood } = await uncut(agent, `The closing of ${id}`, async () => {
    const { before, ...closed }: ClosedAgent =
      known?.closed === true
        ? { closed: [] }
        : await closeAgent(agent, id, { reason: `closed by ${agent.id}`, ...how });
    const after = agent.children.get(id);
    const status = statusBefore(known, after, before);
    agent.emit({ type: 'agent.close.end', ...event, status });
    for (const { agent_id, error } of closed.not_closed ?? []) notClosed(agent, agent_id, error.message);
    agent.onChange();
    return { answer: { status, ...closed }, stood: before?.status ?? known?.status };
  });
  if (stood !== undefined && !agent.operations.has(callId)) withdrawTold(agent, id, stood);
  return answer;
}

/** As the agent itself has said it, which may have gone on since this one was last told; else as it was known here. */
function statusBefore(
  known: Known | undefined,
  after: Known | undefined,
  before: ClosedAgent['before'],
): WireStatus {
  if (before === undefined) return wireStatus(known?.status ?? 'not_found', known?.message);
  return wireStatus(before.status, before.message ?? after?.beforeClose?.message ?? known?.message);
}

/** What the answer tells, or that the closing has cut a turn off, is no news for the model that has asked for it. */
function withdrawTold(agent: AgentState, id: AgentId, before: Status): void {
  const turn = agent.children.get(id)?.turn;
  if (turn !== undefined) agent.inbox.withdraw(id, turn, isFinal(before) ? before : 'interrupted');
}

/**
 * It closes as for anybody else: its turn is stopped first, so its model does not see this answer any more. A client
 * that has asked for it does, but the agent cannot wait for its own end: the answer names who is about to be closed.
 */
async function closeItself(agent: AgentState): Promise<CloseResult> {
  const { status, message } = agent.standing;
  const below = await viewsOf(agent, { scope: 'descendants', include_closed: true });
  const leafFirst = (below?.agents ?? []).filter((view) => !view.closed).sort((a, b) => b.depth - a.depth);
  agent.orders.push({ type: 'shutdown', reason: 'closed by itself' });
  return {
    status: wireStatus(status, message),
    closed: [...leafFirst.map(({ agent_id }) => agent_id), agent.id],
  };
}

/**
 * Asks an agent to close itself and all below it, and waits until it has. One that does not acknowledge, or does
 * not come to an end, is terminated with all below it, as far as the server ends them.
 */
export function closeAgent(
  agent: AgentState,
  id: AgentId,
  how: { reason: string; keepStatus?: boolean },
): Promise<ClosedAgent> {
  // An interrupt of the turn that asked for it does not leave a tree half closed.
  return CancellationScope.nonCancellable(async () => {
    const requestId = agent.nextId('requests');
    let gone = false;
    const request = {
      request_id: requestId,
      from: agent.id,
      reason: how.reason,
      keep_status: how.keepStatus ?? false,
    };
    agent.outbox.post(id, { type: 'close', request }, () => {
      gone = true;
    });
    const acknowledged = (): boolean => gone || agent.acknowledgements.has(requestId);
    const done = (): boolean => gone || agent.acknowledgements.get(requestId)?.done === true;
    const inTime =
      (await inGoodTime(done, acknowledged, `${id} closes`)) ||
      (acknowledged() &&
        (await condition(done, longest(agent), { summary: `${id} closes what is below it` })));
    const { closed = [], not_closed, before } = agent.acknowledgements.get(requestId) ?? {};
    agent.acknowledgements.delete(requestId);
    if (inTime && !gone) {
      return {
        closed,
        ...(not_closed === undefined ? {} : { not_closed }),
        ...(before === undefined ? {} : { before }),
      };
    }
    // Of one that was ended from outside nobody has closed what is below it.
    const ended = await terminate(id, how.reason);
    const left = ended.not_closed ?? [];
    if (left.length > 0) for (const other of ended.closed) suspectEnded(agent, other);
    // It may work on, so it keeps what it has.
    if (left.some(({ agent_id }) => agent_id === id)) return ended;
    const life = agent.children.life(id);
    if (gone) markLost(agent, id, 'errored', OUTSIDE);
    else markLost(agent, id, ...endOf(agent.children.get(id), how.keepStatus === true));
    if (life !== undefined) {
      releaseSlot(agent, id, life);
      if (left.length === 0) releaseBelow(agent, id, life);
    }
    return ended;
  });
}

async function terminate(id: AgentId, reason: string): Promise<Closed> {
  try {
    const { terminated } = await terminateAgents({ agent_id: id, reason });
    return { closed: terminated };
  } catch (error) {
    const problem = terminateProblem(error);
    if (problem === undefined) return { closed: [], not_closed: [{ agent_id: id, error: bodyOf(error) }] };
    return { closed: problem.terminated, not_closed: problem.not_terminated };
  }
}

/** It could not be ended: that is no reason for the others to stay. */
export function notClosed(agent: AgentState, id: AgentId, message: string): void {
  agent.warn(`agent ${id} could not be closed: ${message}`);
}

/** What an agent is shown as that has to be terminated; in good order it keeps what it has ended with. */
function endOf(known: Known | undefined, keepStatus: boolean): [Status, string] {
  if (keepStatus && known !== undefined && isFinal(known.status)) return [known.status, known.message];
  return ['shutdown', 'terminated: it did not answer'];
}

/**
 * The time to acknowledge. Where this agent's own timer is told late, its worker is behind with its work, or was away:
 * so it is with whoever is to answer, who gets the time once more.
 */
async function inGoodTime(
  done: () => boolean,
  acknowledged: () => boolean,
  summary: string,
): Promise<boolean> {
  for (let left = MOST_TIMES; ; left--) {
    const begun = Date.now();
    if (await condition(done, ACKNOWLEDGE_MS, { summary })) return true;
    const isLate = Date.now() - begun - ACKNOWLEDGE_MS > LATE_MS;
    if (acknowledged() || !isLate || left <= 1) return false;
  }
}

function markLost(agent: AgentState, id: AgentId, status: Status, message: string): void {
  lose(agent, id, status, message);
  if (agent.closing === undefined) agent.warn(`agent ${id} was ${message}`);
}

/** Every level below may need its own time for stragglers. */
function longest(agent: AgentState): number {
  const levels = Math.max(1, agent.settings.limits.max_depth - agent.identity.depth);
  return ACKNOWLEDGE_MS * (levels + 1);
}
