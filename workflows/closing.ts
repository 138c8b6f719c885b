import { allHandlersFinished, condition } from '@temporalio/workflow';
import type { AgentId, AgentResult, NotClosed, Usage } from '../protocol/index.ts';
import { addUsage } from '../protocol/usage.ts';
import { bodyOf, endCommands, writeRollout } from './activity-calls.ts';
import type { AgentState } from './agent-state.ts';
import { closeAgent, notClosed } from './operations/close.ts';

/** What was stopped has ended by then, but for what must not be cut in two. */
const SIDE_WORK_MS = 10_000;

/** Why an agent closes that was below another one, however far. */
const ALONG = 'its parent closes: ';

/** Closes what is below, leaf first, then this agent; tells parent, root and whoever asked. */
export async function closeSelf(agent: AgentState): Promise<AgentResult> {
  const { reason, keepStatus } = agent.closing ?? { reason: 'closed', keepStatus: false };
  const { sideWork } = agent;
  // It may be just starting an agent that has to be closed, too.
  if (sideWork.busy)
    await condition(() => !sideWork.busy, SIDE_WORK_MS, { summary: 'what runs beside it ends' });
  agent.children.closeAlong();
  const how = { reason: reason.startsWith(ALONG) ? reason : `${ALONG}${reason}`, keepStatus };
  const commandsEnd = endAllCommands(agent);
  const below = await Promise.all(agent.children.open.map((child) => closeAgent(agent, child.id, how)));
  if (commandsEnd !== undefined) await commandsEnd;
  const closed: AgentId[] = [...below.flatMap((child) => child.closed), agent.id];
  const left = below.flatMap((child) => child.not_closed ?? []);
  for (const { agent_id, error } of left) notClosed(agent, agent_id, error.message);
  agent.closed = closed;
  const before = agent.standing.status;
  agent.standing.close(keepStatus, reason, Date.now());
  if (agent.standing.status !== before) agent.emitOwnStatus();
  agent.report();
  for (const { from, requestId, before } of agent.closeRequests) {
    const acknowledge = {
      request_id: requestId,
      done: true,
      closed,
      before,
      ...(left.length === 0 ? {} : { not_closed: left }),
    };
    agent.outbox.post(from, { type: 'acknowledge', acknowledge });
  }
  await condition(() => agent.outbox.isEmpty && allHandlersFinished());
  agent.operations.giveUp();
  if (agent.session?.rollout === true) await leaveRollout(agent);
  return resultOf(agent, closed, left);
}

/** Undefined where there are none. What cannot be reached is ended by its worker, or was with it. */
function endAllCommands({ id, commands }: AgentState): Promise<unknown> | undefined {
  if (commands.isEmpty) return undefined;
  const { queues } = commands;
  commands.clear();
  return Promise.all(queues.map((queue) => endCommands(id, queue).catch(() => {})));
}

/** The last thing that a session does: all that is below has closed, and answers questions all the same. */
async function leaveRollout(agent: AgentState): Promise<void> {
  try {
    await writeRollout({ session_id: agent.identity.session_id });
  } catch (error) {
    agent.warn(`the rollout of the session was not written: ${bodyOf(error).message}`);
  }
  await condition(() => agent.outbox.isEmpty && allHandlersFinished());
}

function resultOf(agent: AgentState, closed: AgentId[], left: NotClosed[]): AgentResult {
  const { standing, identity } = agent;
  return {
    agent_id: agent.id,
    session_id: identity.session_id,
    status: standing.status,
    output: standing.message ?? '',
    usage: sessionUsage(agent),
    ...(standing.code === undefined ? {} : { code: standing.code }),
    ...(standing.approvalMissing ? { approval_missing: true } : {}),
    closed,
    ...(left.length === 0 ? {} : { not_closed: left }),
  };
}

function sessionUsage(agent: AgentState): Usage {
  const views = agent.tree?.views ?? [];
  return views.reduce((sum, view) => addUsage(sum, view.usage), agent.standing.usage);
}
