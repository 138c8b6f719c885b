import { patched } from '@temporalio/workflow';
import { refusalOutput } from '../protocol/errors.ts';
import type { ApprovalNeed, PlannedCall, ToolAnswer, ToolCall, ToolOutput } from '../protocol/index.ts';
import { callTool, problemOf } from './activity-calls.ts';
import type { AgentState } from './agent-state.ts';
import { Failed } from './dialects/failed.ts';
import { dialectOf } from './dialects/index.ts';
import { outputOf } from './operation-output.ts';
import { askApproval, missApproval, takeBack } from './operations/approval.ts';
import { Refused } from './operations/refused.ts';
import { unwatch } from './operations/resolve.ts';
import { MovesOn, type StepUnderWay } from './step-under-way.ts';
import type { Stoppable } from './stoppable.ts';
import { tellOperationEnded } from './trace-sink.ts';

/** A call that waited in an earlier run, and is stopped before it goes on in this one, tells its end. */
const PARKED_CALLS_END = 'parked-calls-end';
/** How much of an output stands in an event. */
const OUTPUT_SHOWN = 2_000;

/**
 * Runs the tool calls of one model answer: those that only read side by side, the others in order, one at a time.
 *
 * @returns `continue_as_new` when all that are left only wait, and the agent should go on in a new run
 */
export async function runToolCalls(
  agent: AgentState,
  running: Stoppable,
): Promise<'done' | 'continue_as_new'> {
  const { step } = agent;
  if (step === undefined) return 'done';
  for (const group of grouped(step.plans)) {
    const left = group.filter((plan) => step.outputOf(plan.call_id) === undefined);
    const ends = await Promise.all(left.map((plan) => runOfStep(agent, running, step, plan)));
    if (ends.includes('moves_on')) return 'continue_as_new';
  }
  agent.step = undefined;
  agent.conversation.append(...step.outputs);
  return 'done';
}

async function runOfStep(
  agent: AgentState,
  running: Stoppable,
  step: StepUnderWay,
  plan: PlannedCall,
): Promise<'done' | 'moves_on'> {
  const { call_id: id } = plan;
  if (running.stopReason !== undefined && !tellsItsEnd(step, id)) {
    const { approval, wait } = step.parked(id) ?? {};
    if (approval !== undefined) takeBack(agent, approval);
    if (wait?.watch !== undefined) unwatch(agent, wait.watch);
    step.end(id, notRun(plan));
    return 'done';
  }
  step.begin(id, Date.now());
  try {
    step.end(id, await runOne(agent, running, plan, agent.conversation.callOf(id)));
    return 'done';
  } catch (error) {
    if (!(error instanceof MovesOn)) throw error;
    step.end(id, undefined);
    return 'moves_on';
  }
}

/**
 * One that waited in an earlier run has been told of, by its own event and by that of what it waits for: it begins once
 * more, is stopped where it waits, and tells its end.
 */
function tellsItsEnd(step: StepUnderWay, id: string): boolean {
  return step.parked(id) !== undefined && patched(PARKED_CALLS_END);
}

/** Neighbours that may run side by side, together. */
function grouped(plans: readonly PlannedCall[]): PlannedCall[][] {
  const groups: PlannedCall[][] = [];
  let open = false;
  for (const plan of plans) {
    const beside = runsBeside(plan);
    if (beside && open) groups.at(-1)?.push(plan);
    else groups.push([plan]);
    open = beside;
  }
  return groups;
}

function runsBeside(plan: PlannedCall): boolean {
  switch (plan.kind) {
    case 'refused':
      return true;
    case 'activity':
      return plan.effects === 'none';
    case 'operation':
      return dialectOf(plan.name)?.sideBySide.includes(plan.name) === true;
  }
}

/** A call that no model has made: a person's or a program's. It stands in the events, not in the conversation. */
export function answerCall(
  agent: AgentState,
  work: Stoppable,
  plan: PlannedCall,
  call: ToolCall,
): Promise<ToolOutput> {
  return runOne(agent, work, plan, call);
}

/** @param work what the call belongs to: the turn, which shows what it does, or an operation of a client */
async function runOne(
  agent: AgentState,
  work: Stoppable,
  plan: PlannedCall,
  call: ToolCall | undefined,
): Promise<ToolOutput> {
  const isTurn = work === agent.running;
  // One that has waited in an earlier run has been told of.
  const isNew = !isTurn || agent.step?.parked(plan.call_id) === undefined;
  const started = (isTurn ? agent.step?.since(plan.call_id) : undefined) ?? Date.now();
  const label = plan.summary === '' ? plan.name : `${plan.name} · ${plan.summary}`;
  if (isNew)
    agent.emit({ type: 'tool.begin', call_id: plan.call_id, name: plan.name, summary: plan.summary });
  if (isTurn) agent.standing.currentTool = label;
  agent.onChange();
  const output = await answerOf(agent, work, plan, call);
  if (isTurn) agent.standing.currentTool = undefined;
  if (plan.kind === 'operation') tellOperationEnded(agent, plan, started, output);
  agent.emit({
    type: 'tool.end',
    call_id: plan.call_id,
    name: plan.name,
    success: output.success,
    duration_ms: Date.now() - started,
    output: output.output.length > OUTPUT_SHOWN ? `${output.output.slice(0, OUTPUT_SHOWN)}…` : output.output,
  });
  return output;
}

async function answerOf(
  agent: AgentState,
  work: Stoppable,
  plan: PlannedCall,
  call: ToolCall | undefined,
): Promise<ToolOutput> {
  switch (plan.kind) {
    case 'refused':
      return output(plan, refusalOutput(plan.error), false);
    case 'operation':
      return operate(agent, plan);
    case 'activity':
      return call === undefined ? notRun(plan) : runActivity(agent, work, plan, call);
  }
}

async function operate(
  agent: AgentState,
  plan: Extract<PlannedCall, { kind: 'operation' }>,
): Promise<ToolOutput> {
  const dialect = dialectOf(plan.name);
  const tool = dialect?.tools[plan.name];
  if (tool === undefined) {
    return output(
      plan,
      refusalOutput({ code: 'unknown_tool', message: `there is no tool ${plan.name}` }),
      false,
    );
  }
  try {
    const result = await tool(agent, plan.call_id, plan.arguments);
    return output(plan, await outputOf(agent, result), true);
  } catch (error) {
    if (error instanceof MovesOn) throw error;
    if (error instanceof Failed) return output(plan, await outputOf(agent, error.result), false);
    if (error instanceof Refused) {
      const body = dialect?.refusal?.(error.body) ?? error.body;
      return output(plan, refusalOutput(body, error.details), false);
    }
    const problem = problemOf(error);
    if (problem.kind === 'cancelled') {
      // Whoever carries an operation out for a client says why it was stopped.
      if (agent.operations.has(plan.call_id)) throw error;
      return output(plan, 'The turn was interrupted before this call had ended.', false);
    }
    return output(
      plan,
      refusalOutput({ code: 'internal', message: `${plan.name} failed: ${problem.message}` }),
      false,
    );
  }
}

async function runActivity(
  agent: AgentState,
  work: Stoppable,
  plan: Extract<PlannedCall, { kind: 'activity' }>,
  call: ToolCall,
): Promise<ToolOutput> {
  const isTurn = work === agent.running;
  if (isTurn) agent.standing.waitingFor = 'tool';
  try {
    const answer = await runAllowed(agent, work, plan, call);
    if (answer === undefined) {
      return output(
        plan,
        unknownOutcome(plan, 'it was interrupted and did not say in time that it had stopped'),
        false,
      );
    }
    if (answer.command_session !== undefined) agent.commands.heard(answer.command_session, plan.summary);
    if (answer.plan !== undefined) {
      agent.standing.setPlan(answer.plan.plan, Date.now());
      agent.emit({ type: 'plan.updated', ...answer.plan });
    }
    if (answer.approval_missing === true) missApproval(agent, plan.call_id);
    agent.conversation.madeByWorker(plan.call_id);
    const { output: text, success, handle, image } = answer;
    return {
      ...output(plan, text, success),
      ...(handle === undefined ? {} : { handle }),
      ...(image === undefined ? {} : { image }),
    };
  } catch (error) {
    if (error instanceof MovesOn) throw error;
    const problem = problemOf(error);
    if (plan.command_session !== undefined) agent.commands.lost(plan.command_session);
    if (work.stopReason !== undefined) {
      const ended = plan.command_session === undefined ? '' : ', and its session ended';
      return output(plan, `The call was interrupted${ended}; what it had done until then stays done.`, false);
    }
    if (problem.kind === 'failed') {
      return output(plan, refusalOutput({ code: 'tool_failed', message: problem.message }), false);
    }
    if (problem.kind === 'lost' && problem.neverBegan === true) return output(plan, sessionGone(plan), false);
    const why = problem.kind === 'lost' ? problem.message : 'its worker was shut down';
    if (plan.effects === 'none') {
      return output(
        plan,
        refusalOutput({ code: 'tool_failed', message: `${plan.name} did not end: ${why}` }),
        false,
      );
    }
    const also =
      plan.command_session === undefined ? '' : `, and session ${plan.command_session} is gone with it`;
    return output(plan, unknownOutcome(plan, `${why}${also}`), false);
  } finally {
    if (isTurn) agent.standing.waitingFor = undefined;
  }
}

/** Runs a call, and again when a person had to allow it first; undefined when an interrupt left it behind. */
async function runAllowed(
  agent: AgentState,
  work: Stoppable,
  plan: Extract<PlannedCall, { kind: 'activity' }>,
  call: ToolCall,
): Promise<ToolAnswer | undefined> {
  let need: ApprovalNeed | undefined = agent.step?.parked(plan.call_id)?.approval;
  if (need === undefined) {
    const answer = await attempt(agent, work, plan, { call });
    if (answer?.needs_approval === undefined) return answer;
    need = answer.needs_approval;
  }
  const refusal = await askApproval(agent, need, plan.call_id, plan.name);
  if (refusal !== undefined) return { output: refusalOutput(refusal), success: false };
  if (work === agent.running) agent.standing.waitingFor = 'tool';
  return attempt(agent, work, plan, { call, approved: true });
}

async function attempt(
  agent: AgentState,
  work: Stoppable,
  plan: Extract<PlannedCall, { kind: 'activity' }>,
  request: { call: ToolCall; approved?: boolean },
): Promise<ToolAnswer | undefined> {
  const { command_session: session } = plan;
  const queue = session === undefined ? undefined : agent.commands.queueOf(session);
  const running = callTool({ agent: agent.reference(), ...request }, plan, queue);
  running.catch(() => {});
  return Promise.race([running, work.overdue]);
}

function unknownOutcome(plan: PlannedCall, why: string): string {
  return refusalOutput({
    code: 'outcome_unknown',
    message: `It is unknown whether ${plan.name} had its effect: ${why}.`,
    hint: 'Look at what is there before you try again.',
  });
}

function sessionGone({ command_session: session }: { command_session?: number }): string {
  return refusalOutput({
    code: 'command_session_not_found',
    message: `Session ${session} is gone: the worker that held it does not answer, and its command was ended with it.`,
    hint: 'Nothing was typed. How far the command came is unknown: look at what is there before you start it again.',
  });
}

function notRun(plan: PlannedCall): ToolOutput {
  return output(plan, 'The turn was interrupted before this call ran.', false);
}

function output(plan: PlannedCall, text: string, success: boolean): ToolOutput {
  return { type: 'tool_output', call_id: plan.call_id, output: text, success };
}
