import { patched, workflowInfo } from '@temporalio/workflow';
import type { ErrorCode, ModelAnswer, Summary } from '../../protocol/index.ts';
import { behindSummary } from '../../protocol/items.ts';
import { callModel, problemOf } from '../activity-calls.ts';
import type { AgentState } from '../agent-state.ts';
import { type CompactionPlan, planCompaction } from '../compaction.ts';
import { hasToShrink, hasToShrinkNow } from '../continue-as-new.ts';
import type { CompactionReason } from '../conversation.ts';
import { cutMiddle } from '../cut-middle.ts';
import { howThingsStand } from '../how-things-stand.ts';
import { textOf } from '../model-step.ts';

/** A summary that failed is asked for again when the conversation has grown by this much. */
const GROWN = 1.2;
/** Of a summary; a model that says more has copied rather than summarised. */
const SUMMARY_BYTES = 64_000;
/** Of why there is none. */
const REASON_BYTES = 2_000;
/** Of JSON; a text of another language than English has fewer. */
const BYTES_A_TOKEN = 3;

/** Agents of before went on until the server ended them. */
const WITHOUT_SUMMARY = 'compaction-without-summary';
/** Agents of before ended every further turn with it. */
const FULL_WITHOUT_SUMMARY = 'full-without-summary';

/** @returns whether the conversation is shorter now */
export async function compactIfDue(agent: AgentState): Promise<boolean> {
  const { conversation } = agent;
  const reason = conversation.compact ?? (hasToShrink(agent) ? 'history' : undefined);
  if (reason === undefined) return false;
  const { notCompacted } = conversation;
  const hasGrown = notCompacted === undefined || conversation.bytes >= notCompacted * GROWN;
  return hasGrown || canDoWithout(agent) ? compact(agent, reason) : false;
}

/**
 * Replaces all but the newest items by a summary that the model writes, and by how things stand, which is told from
 * state. Where that cannot be had, the conversation stays as it is, with a warning, unless the agent could not go on
 * with it, since the server would end it for its history, or its model takes neither it nor the request for a summary:
 * then how things stand has to do.
 *
 * @returns whether the conversation is shorter now
 */
export async function compact(agent: AgentState, reason: CompactionReason): Promise<boolean> {
  const { conversation, standing } = agent;
  const plan = planCompaction(conversation.items, conversation.bytes);
  if (plan === undefined) return giveUp(agent, reason, 'next to nothing in it could be replaced');
  standing.waitingFor = 'model';
  standing.currentTool = 'compaction';
  agent.onChange();
  let answer: ModelAnswer;
  try {
    answer = await askSummary(agent);
  } catch (error) {
    const problem = problemOf(error);
    if (problem.kind === 'cancelled' || agent.running?.stopReason !== undefined) throw error;
    const code = problem.kind === 'failed' ? problem.code : undefined;
    return orWithout(agent, plan, reason, { message: problem.message, code });
  } finally {
    standing.waitingFor = undefined;
    standing.currentTool = undefined;
  }
  standing.used(answer.usage, Date.now());
  agent.emit({ type: 'usage', usage: answer.usage });
  const text = textOf(answer.items);
  if (text === '') {
    return orWithout(agent, plan, reason, {
      message: 'the model answered with no text',
      code: 'model_answer_empty',
    });
  }
  return replace(agent, plan, reason, cutMiddle(text, SUMMARY_BYTES));
}

/** Why there is no summary. */
interface Lack {
  message: string;
  code: ErrorCode | undefined;
}

/** Whether what a summary would replace is to go without one, and there is something to go. */
function canDoWithout(agent: AgentState): boolean {
  const { items, bytes } = agent.conversation;
  if (!hasToShrinkNow(agent) || planCompaction(items, bytes) === undefined) return false;
  return patched(WITHOUT_SUMMARY);
}

/** Whether its model will take neither the conversation nor the request to summarise it, however often it is asked. */
function isStuck(reason: CompactionReason, { code }: Lack): boolean {
  if (reason !== 'full' || (code !== 'context_full' && code !== 'model_answer_empty')) return false;
  return patched(FULL_WITHOUT_SUMMARY);
}

function orWithout(agent: AgentState, plan: CompactionPlan, reason: CompactionReason, lack: Lack): boolean {
  const { message: why } = lack;
  if (!isStuck(reason, lack) && !canDoWithout(agent)) return giveUp(agent, reason, why);
  agent.warn(
    `The conversation goes on without its older items, since no summary of them could be had: ${why}`,
  );
  return replace(
    agent,
    plan,
    reason,
    `The older items are left out here, and no summary of them could be had: ${cutMiddle(why, REASON_BYTES)}`,
  );
}

function replace(agent: AgentState, plan: CompactionPlan, reason: CompactionReason, text: string): true {
  const { conversation, standing } = agent;
  const before = conversation.bytes;
  const replaced = conversation.items.slice(0, plan.keepFrom);
  const summary: Summary = {
    type: 'summary',
    text: [text, '', ...howThingsStand(agent, replaced)].join('\n'),
    replaced: plan.replaced,
  };
  const count = plan.replaced.items - behindSummary(conversation.items).replaced.items;
  conversation.replace(plan.keepFrom, plan.messages, summary, workflowInfo().runId);
  standing.shrank(Math.ceil(conversation.bytes / BYTES_A_TOKEN), Date.now());
  agent.emit({
    type: 'conversation.compacted',
    replaced: count,
    bytes_before: before,
    bytes_after: conversation.bytes,
    reason,
  });
  return true;
}

function giveUp(agent: AgentState, reason: CompactionReason, why: string): false {
  const { conversation } = agent;
  conversation.compact = undefined;
  conversation.notCompacted = conversation.bytes;
  agent.warn(`The conversation was to be compacted (${REASONS[reason]}), and stays as it is: ${why}`);
  return false;
}

const REASONS: Record<CompactionReason, string> = {
  requested: 'somebody has asked for it',
  window: "it nearly fills the model's window",
  full: "it is more than the model's window holds",
  history: 'it has grown too large for a new run of its workflow',
};

function askSummary(agent: AgentState): Promise<ModelAnswer> {
  const request = {
    agent: agent.reference(),
    pointer: agent.pointer,
    fresh: agent.conversation.fresh,
    final: false,
    summary: true,
  } as const;
  return callModel(request, agent.settings, `model ${agent.settings.model} · compaction`);
}
