import { condition } from '@temporalio/workflow';
import type { AgentView } from '../protocol/index.ts';
import type { AgentState } from './agent-state.ts';
import { answerSlot } from './ledger.ts';
import type { SessionTree } from './session-tree.ts';

/** What is on its way, such as an idle agent that is woken, has come by then. */
const GRACE_MS = 5_000;

/**
 * Where open agents hold slots, all of them may be idle while others wait for a slot: none comes free by itself. While
 * a turn is in progress, which may be waiting for just those, they are refused, so that its model can close one;
 * otherwise they stay in line for the person. Either way a warning says what frees a slot.
 */
export async function lookForStandstill(root: AgentState, tree: SessionTree): Promise<never> {
  const standsStill = (): boolean => tree.slots.standsStill && isQuiet(root, tree);
  for (;;) {
    await condition(standsStill);
    const moves = await condition(() => !standsStill(), GRACE_MS, { summary: 'nobody can free a slot' });
    if (moves) continue;
    const { message } = tree.slots.full;
    const who = tree.slots.queued.join(', ');
    root.warn(
      `No slot comes free for ${who}: nobody is at work who could close an agent. ${message} ` +
        'Close one that is done (cadre close ID).',
    );
    if (root.standing.status === 'running' || tree.slots.lends) refuse(root, tree);
    await condition(() => !standsStill());
  }
}

/** Nobody does anything but wait, for a slot or for other agents, the root included. */
function isQuiet(root: AgentState, tree: SessionTree): boolean {
  if (root.closing !== undefined || root.inbox.hasInput || tree.looking !== undefined) return false;
  const { status, waitingFor } = root.standing;
  if (root.questions.size > 0 || (status === 'running' && waitingFor !== 'agents')) return false;
  return tree.views.every((view) => view.closed || view.is_final || view.idle === true || waits(view, tree));
}

function waits({ agent_id: id, waiting_for: what, queued }: AgentView, tree: SessionTree): boolean {
  if (what === 'agents') return true;
  return what === 'slot' && queued === true && tree.slots.queued.includes(id);
}

function refuse(root: AgentState, tree: SessionTree): void {
  const full = tree.slots.full;
  const error = {
    ...full,
    message: `${full.message} None of them is at work: close one that is done, then send this agent its input again.`,
  };
  for (const { agent, requestId } of tree.slots.refuseQueue()) {
    answerSlot(root, agent, { request_id: requestId, outcome: 'refused', error });
  }
}
