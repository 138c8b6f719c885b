import { CancellationScope, sleep, WorkflowIdReusePolicy } from '@temporalio/workflow';
import { depthOf, parentOf } from '../../protocol/ids.ts';
import type { AgentId, ClosedAgentAnswer, WireStatus } from '../../protocol/index.ts';
import { wireStatus } from '../../protocol/status.ts';
import { findClosedAgent } from '../activity-calls.ts';
import type { AgentState } from '../agent-state.ts';
import { noticeDeath } from './death.ts';
import { requireBelow } from './ownership.ts';
import { Refused } from './refused.ts';
import { resolveAgent } from './resolve.ts';
import { releaseSlot, reserveFor } from './slot.ts';
import { startAgentWorkflow } from './start-agent.ts';

export interface ResumeResult {
  status: WireStatus;
  /** Every agent that was brought back, parents before their children. */
  resumed: AgentId[];
}

/** An agent that has just said that it is closed needs a moment until its workflow has ended. */
const CLOSING_TRIES = 15;
const CLOSING_PAUSE = '1 second';

/**
 * Brings a closed agent back, with its conversation, role, tools, note and depth; it does nothing until it gets input.
 * With `recursive` those come back, too, that were closed along with it. An open one is left as it is.
 */
export async function resume(
  agent: AgentState,
  reference: string,
  options: { callId: string; recursive: boolean },
): Promise<ResumeResult> {
  const id = await resolveAgent(agent, reference);
  const event = { call_id: options.callId, sender_id: agent.id, receiver_id: id };
  agent.emit({ type: 'agent.resume.begin', ...event });
  try {
    const result = await bringBack(agent, id, options.recursive);
    agent.emit({ type: 'agent.resume.end', ...event, status: result.status });
    agent.onChange();
    return result;
  } catch (error) {
    agent.emit({ type: 'agent.resume.end', ...event, status: 'not_found' });
    throw error;
  }
}

async function bringBack(agent: AgentState, id: AgentId, recursive: boolean): Promise<ResumeResult> {
  if (id === agent.id)
    return { status: wireStatus(agent.standing.status, agent.standing.message), resumed: [] };
  requireBelow(agent, id, 'resume');
  const known = agent.children.get(id);
  if (known?.closed === false) return { status: wireStatus(known.status, known.message), resumed: [] };
  await requireOpenParent(agent, id);
  requireDepth(agent, id);
  // From the slot on nothing may be cut in two.
  return CancellationScope.nonCancellable(async () => {
    const resumed = await startAgain(agent, id, recursive);
    const { status, message } = agent.children.get(id) ?? { status: 'pending_init' as const, message: '' };
    return { status: wireStatus(status, message), resumed };
  });
}

/** Reports and notices of an agent go to its parent: without one it would be an orphan. */
async function requireOpenParent(agent: AgentState, id: AgentId): Promise<void> {
  const parent = parentOf(id);
  if (parent === undefined || parent === agent.id) return;
  const found = await resolveAgent(agent, parent);
  if (agent.children.get(found)?.closed !== true) return;
  throw new Refused({
    code: 'agent_not_resumable',
    message: `agent ${id} cannot be resumed: its parent ${parent} is closed`,
    hint: `Resume ${parent} first.`,
  });
}

function requireDepth(agent: AgentState, id: AgentId): void {
  const { max_depth: most } = agent.settings.limits;
  if (depthOf(id) <= most) return;
  throw new Refused({
    code: 'limit_depth',
    message: `agent ${id} is deeper than agents.max_depth (${most}) allows`,
  });
}

async function startAgain(agent: AgentState, id: AgentId, recursive: boolean): Promise<AgentId[]> {
  const found = await find(id);
  if (!found.ok) throw new Refused(found.error);
  // Where open agents hold slots, one that comes back needs one; else only its next turn does.
  const holdsSlot = agent.settings.limits.count === 'open';
  if (holdsSlot) {
    const answer = await reserveFor(agent, id);
    if (answer?.outcome === 'refused') throw new Refused(answer.error);
  }
  const { identity, settings, note, run_id } = found;
  try {
    const child = await startAgentWorkflow(
      { identity, settings, restore: { kind: 'resume', run_id } },
      note,
      WorkflowIdReusePolicy.ALLOW_DUPLICATE,
    );
    noticeDeath(agent, id, child);
  } catch (error) {
    if (holdsSlot) releaseSlot(agent, id, true);
    const reason = error instanceof Error ? error.message : String(error);
    throw new Refused({ code: 'internal', message: `agent ${id} could not be started again: ${reason}` });
  }
  agent.children.resumed(id);
  const resumed = [id];
  if (!recursive) return resumed;
  for (const child of found.open_children) resumed.push(...(await startAgain(agent, child, true)));
  return resumed;
}

async function find(id: AgentId): Promise<ClosedAgentAnswer> {
  for (let tries = 1; ; tries++) {
    const found = await findClosedAgent({ agent_id: id });
    if (found.ok || found.error.retryable !== true || tries >= CLOSING_TRIES) return found;
    await sleep(CLOSING_PAUSE);
  }
}
