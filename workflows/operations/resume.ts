import { sleep, WorkflowIdReusePolicy } from '@temporalio/workflow';
import { depthOf, parentOf } from '../../protocol/ids.ts';
import type { AgentId, BroughtBack, ClosedAgentAnswer, ErrorBody, WireStatus } from '../../protocol/index.ts';
import { lifeOf, nextLife } from '../../protocol/lives.ts';
import { wireStatus } from '../../protocol/status.ts';
import { bodyOf, findClosedAgent } from '../activity-calls.ts';
import type { AgentState } from '../agent-state.ts';
import { endBelow, noticeDeath, takeForLost, untilBuried } from './death.ts';
import { requireBelow } from './ownership.ts';
import { Refused } from './refused.ts';
import { resolveAgent } from './resolve.ts';
import { releaseSlot, reserveFor } from './slot.ts';
import { startAgentWorkflow } from './start-agent.ts';
import { LeftBehind, uncut } from './uncut.ts';

export interface ResumeResult extends BroughtBack {
  status: WireStatus;
}

/** The class itself is not for workflows. */
const ALREADY_STARTED = 'WorkflowExecutionAlreadyStartedError';

/** An agent that has just said that it is closed needs a moment until its workflow has ended. */
const CLOSING_TRIES = 15;
const CLOSING_PAUSE = '1 second';

/**
 * Brings a closed agent back, with its conversation, role, tools, note and depth; it does nothing until it gets input.
 * With `recursive` those come back, too, that were open when it ended. An open one is left as it is.
 */
export async function resume(
  agent: AgentState,
  reference: string,
  options: { callId: string; recursive: boolean },
): Promise<ResumeResult> {
  const id = await resolveAgent(agent, reference);
  const event = { call_id: options.callId, sender_id: agent.id, receiver_id: id };
  const tell = (status: WireStatus, error?: string): void => {
    const reason = error === undefined ? {} : { error };
    agent.emit({ type: 'agent.resume.end', ...event, status, ...reason });
    agent.onChange();
  };
  agent.emit({ type: 'agent.resume.begin', ...event });
  try {
    const open = await asItIs(agent, id);
    if (open !== undefined) {
      tell(open.status);
      return open;
    }
    // From the slot on nothing may be cut in two.
    return await uncut(agent, `The resume of ${id}`, async () => {
      const result = await bringBack(agent, id, options.recursive);
      tell(result.status);
      return result;
    });
  } catch (error) {
    if (!(error instanceof LeftBehind))
      tell('not_found', error instanceof Error ? error.message : String(error));
    throw error;
  }
}

/** How an open agent stands, which is left as it is; undefined for one that may be brought back. */
async function asItIs(agent: AgentState, id: AgentId): Promise<ResumeResult | undefined> {
  if (id === agent.id) return asItStands(agent.standing);
  requireBelow(agent, id, 'resume');
  const known = agent.children.get(id);
  if (known?.closed === false && !(await hasEnded(agent, id))) return asItStands(known);
  await requireOpenParent(agent, id);
  return undefined;
}

async function bringBack(agent: AgentState, id: AgentId, recursive: boolean): Promise<ResumeResult> {
  const back: BroughtBack = { resumed: [], not_resumed: [] };
  await comeBack(agent, id, recursive, back);
  const [refused, ...others] = back.not_resumed;
  if (refused?.agent_id === id) {
    throw new Refused(refused.error, others.length === 0 ? {} : { not_resumed: others });
  }
  for (const { agent_id, error } of back.not_resumed) {
    agent.warn(`agent ${agent_id} was not resumed: ${error.message}`);
  }
  const { status, message } = agent.children.get(id) ?? { status: 'pending_init' as const, message: '' };
  return { status: wireStatus(status, message), ...back };
}

function asItStands({ status, message }: Pick<AgentState['standing'], 'status' | 'message'>): ResumeResult {
  return { status: wireStatus(status, message), resumed: [], not_resumed: [] };
}

/** Whether an agent that counts as open was ended from outside, which this run need not have heard. */
async function hasEnded(agent: AgentState, id: AgentId): Promise<boolean> {
  const found = await findClosedAgent({ agent_id: id });
  if (!found.ok && found.error.code !== 'agent_not_found') return false;
  takeForLost(agent, id, agent.children.life(id) ?? 0);
  return true;
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

function tooDeep(agent: AgentState, id: AgentId): ErrorBody | undefined {
  const { max_depth: most } = agent.settings.limits;
  if (depthOf(id) <= most) return undefined;
  return { code: 'limit_depth', message: `agent ${id} is deeper than agents.max_depth (${most}) allows` };
}

type Found = Extract<ClosedAgentAnswer, { ok: true }>;

/**
 * Brings an agent back, with `recursive` and what was open below it, as far as that can be done.
 *
 * @param missing an agent above it that did not come back
 */
async function comeBack(
  agent: AgentState,
  id: AgentId,
  recursive: boolean,
  back: BroughtBack,
  missing?: AgentId,
): Promise<void> {
  await untilBuried(agent, id);
  const found = await find(id);
  const error = found.ok ? await startAgain(agent, id, found, missing).catch(bodyOf) : found.error;
  if (error === undefined) back.resumed.push(id);
  else if (error !== 'open') back.not_resumed.push({ agent_id: id, error });
  if (!found.ok || !recursive) return;
  const gap = missing ?? (error === undefined || error === 'open' ? undefined : id);
  for (const child of found.open_children) await comeBack(agent, child, true, back, gap);
}

/** @returns why it could not be started again; `open` where somebody else has just done that */
async function startAgain(
  agent: AgentState,
  id: AgentId,
  found: Found,
  missing: AgentId | undefined,
): Promise<ErrorBody | 'open' | undefined> {
  if (missing !== undefined) {
    return { code: 'agent_not_resumable', message: `agent ${missing} above it did not come back` };
  }
  const depth = tooDeep(agent, id);
  if (depth !== undefined) return depth;
  const ended = lifeOf(found.reports);
  if (!found.closed) await endBelow(agent, id, ended, found.open_children);
  // Where open agents hold slots, one that comes back needs one; else only its next turn does.
  const holdsSlot = agent.settings.limits.count === 'open';
  const slot = holdsSlot ? await reserveFor(agent, id) : undefined;
  if (slot?.outcome === 'refused') return slot.error;
  // Whoever closes has asked all that it knows to close: nobody would do so with this one.
  if (agent.closing !== undefined) {
    if (holdsSlot) releaseSlot(agent, id, ended);
    return { code: 'agent_closed', message: `agent ${agent.id} is closing and resumes no agents` };
  }
  const queued = slot?.outcome === 'queued';
  // It comes up idle. Said by itself, that might come behind what is reserved for input that it is about to get.
  if (slot?.outcome === 'granted') releaseSlot(agent, id);
  const { settings, note, run_id, reports } = found;
  // Its own may be of long ago, and the namespace know some of them no longer.
  const identity = { ...found.identity, search_attributes: agent.identity.search_attributes };
  const undo = agent.children.resumed(id, reports, queued);
  try {
    const child = await startAgentWorkflow(
      {
        identity,
        settings,
        ...(note === undefined ? {} : { note }),
        restore: { kind: 'resume', run_id, reports },
        ...(queued ? { slot: 'queued' } : {}),
      },
      note,
      WorkflowIdReusePolicy.ALLOW_DUPLICATE,
    );
    noticeDeath(agent, id, child, lifeOf(nextLife(reports)));
    return undefined;
  } catch (error) {
    undo();
    if (error instanceof Error && error.name === ALREADY_STARTED) return 'open';
    if (holdsSlot) releaseSlot(agent, id, ended);
    const reason = error instanceof Error ? error.message : String(error);
    return { code: 'internal', message: `agent ${id} could not be started again: ${reason}` };
  }
}

async function find(id: AgentId): Promise<ClosedAgentAnswer> {
  for (let tries = 1; ; tries++) {
    const found = await findClosedAgent({ agent_id: id }).catch(
      (error: unknown): ClosedAgentAnswer => ({ ok: false, error: bodyOf(error) }),
    );
    if (found.ok || found.error.retryable !== true || tries >= CLOSING_TRIES) return found;
    await sleep(CLOSING_PAUSE);
  }
}
