import { patched } from '@temporalio/workflow';
import { refusalOutput } from '../protocol/errors.ts';
import type { PlannedCall, ToolCall, ToolOutput } from '../protocol/index.ts';
import { problemOf } from './activity-calls.ts';
import type { AgentState } from './agent-state.ts';
import { Failed } from './dialects/failed.ts';
import { dialectOf } from './dialects/index.ts';
import { outputOf } from './operation-output.ts';
import { takeBack } from './operations/approval.ts';
import { Refused } from './operations/refused.ts';
import { unwatch } from './operations/resolve.ts';
import { MovesOn, type StepUnderWay } from './step-under-way.ts';
import type { Stoppable } from './stoppable.ts';
import { runActivity } from './tool-activity.ts';
import { toolOutput } from './tool-output.ts';
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
      return toolOutput(plan, refusalOutput(plan.error), false);
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
    return toolOutput(
      plan,
      refusalOutput({ code: 'unknown_tool', message: `there is no tool ${plan.name}` }),
      false,
    );
  }
  try {
    const result = await tool(agent, plan.call_id, plan.arguments);
    return toolOutput(plan, await outputOf(agent, result), true);
  } catch (error) {
    if (error instanceof MovesOn) throw error;
    if (error instanceof Failed) return toolOutput(plan, await outputOf(agent, error.result), false);
    if (error instanceof Refused) {
      const body = dialect?.refusal?.(error.body) ?? error.body;
      return toolOutput(plan, refusalOutput(body, error.details), false);
    }
    const problem = problemOf(error);
    if (problem.kind === 'cancelled') {
      // Whoever carries an operation out for a client says why it was stopped.
      if (agent.operations.has(plan.call_id)) throw error;
      return toolOutput(plan, 'The turn was interrupted before this call had ended.', false);
    }
    return toolOutput(
      plan,
      refusalOutput({ code: 'internal', message: `${plan.name} failed: ${problem.message}` }),
      false,
    );
  }
}

function notRun(plan: PlannedCall): ToolOutput {
  return toolOutput(plan, 'The turn was interrupted before this call ran.', false);
}
