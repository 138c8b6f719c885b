import { TemporalFailure } from '@temporalio/common';
import { CancellationScope, sleep } from '@temporalio/workflow';
import type { AgentState } from './agent-state.ts';
import { shouldContinueAsNew } from './continue-as-new.ts';
import { deliverInputs, takeStep, textOf } from './model-step.ts';
import { askBudget } from './operations/budget.ts';
import { compact, compactIfDue } from './operations/compact.ts';
import { untilSettledBelow, waitsForThoseBelow } from './settling.ts';
import { StepUnderWay } from './step-under-way.ts';
import { Stoppable } from './stoppable.ts';
import { runToolCalls } from './tool-calls.ts';
import { tellTurnEnded } from './trace-sink.ts';
import { outOfSteps, outOfTokens, outOfTurns, stopped } from './turn-limits.ts';
import type { TurnOutcome } from './turn-outcome.ts';

/**
 * One turn: steps of a model call and its tool calls until an answer, an interrupt or a limit. That of a one-shot root
 * goes on until those below have settled, which may take further turns.
 *
 * @returns how it ended, or that it goes on in a new run of the workflow
 */
export async function runTurn(agent: AgentState): Promise<TurnOutcome | 'continue_as_new'> {
  agent.beginRunning();
  agent.tokensLeased = 0;
  for (;;) {
    const outcome = agent.standing.settling ?? (await stoppably(agent, takeSteps));
    // It stays there to be stopped, until the new run takes what comes.
    if (outcome === 'continue_as_new') return outcome;
    const settled = await settle(agent, outcome);
    if (settled === 'continue_as_new') return settled;
    if (settled === 'next_turn') continue;
    agent.running = undefined;
    return settled;
  }
}

/** Does a part of the turn that an interrupt, a closing or the clock may stop. */
async function stoppably<T>(
  agent: AgentState,
  part: (agent: AgentState, running: Stoppable) => Promise<T>,
): Promise<T | TurnOutcome> {
  const running = agent.beginRunning();
  const clock = watchTheClock(agent, running);
  try {
    return await running.scope.run(() => part(agent, running));
  } catch (error) {
    // What fails while it is being stopped counts as stopped.
    if (error instanceof TemporalFailure && running.stopReason !== undefined) return stopped(agent, running);
    throw error;
  } finally {
    clock.cancel();
  }
}

/** Stops the turn when it has taken all of its time, what it took in earlier runs of the workflow included. */
function watchTheClock(agent: AgentState, running: Stoppable): CancellationScope {
  const scope = new CancellationScope();
  const { max_wall_ms: most } = agent.settings.limits;
  // One that has failed only waits for others, which have clocks of their own.
  if (most === undefined || agent.standing.settling?.status === 'errored') return scope;
  const left = Math.max(0, agent.standing.turnStarted + most - Date.now());
  scope
    .run(() => sleep(left, { summary: 'agents.max_wall_ms' }))
    .then(
      () =>
        running.stop(`The limit of ${most} ms for one turn was reached (agents.max_wall_ms).`, 'limit_wall'),
      () => {},
    );
  return scope;
}

async function takeSteps(agent: AgentState, running: Stoppable): Promise<TurnOutcome | 'continue_as_new'> {
  for (;;) {
    // No call may stay without an output, also where the turn was stopped.
    if ((await runToolCalls(agent, running)) === 'continue_as_new') return 'continue_as_new';
    if (running.stopReason !== undefined) return stopped(agent, running);
    if (shouldContinueAsNew(agent)) return 'continue_as_new';
    const { max_steps: most } = agent.settings.limits;
    const hasSteps = agent.standing.step < most;
    const refusal = hasSteps ? await askBudget(agent) : undefined;
    // Shorter, it may go on in a new run now.
    if (hasSteps && refusal === undefined && (await compactIfDue(agent))) continue;
    deliverInputs(agent);
    if (!hasSteps) return outOfSteps(agent, running, most);
    if (refusal !== undefined) return outOfTokens(agent, running, refusal);
    const answer = await takeStep(agent, false);
    if ('status' in answer) {
      const isFull = answer.status === 'errored' && answer.code === 'context_full';
      if (isFull && (await compact(agent, 'full'))) continue;
      return answer;
    }
    if (answer.calls.length > 0) {
      agent.step = new StepUnderWay(answer.calls);
      continue;
    }
    const text = textOf(answer.items);
    // Where no step is left, what has come is for the next turn: this one has its answer.
    if (agent.inbox.hasSteering && agent.standing.step < most) continue;
    return text === '' ? emptyAnswer() : { status: 'completed', message: text };
  }
}

function emptyAnswer(): TurnOutcome {
  return {
    status: 'errored',
    message: 'The model answered with neither text nor a tool call.',
    code: 'model_answer_empty',
  };
}

/**
 * Waits for those below a one-shot root. What they report gives a root that has answered one more turn; one that has
 * failed is not asked again, which would fail again, or hide a limit: it stays with its failure.
 */
async function settle(
  agent: AgentState,
  outcome: TurnOutcome,
): Promise<TurnOutcome | 'next_turn' | 'continue_as_new'> {
  if (outcome.status === 'interrupted' || !waitsForThoseBelow(agent)) return outcome;
  const isNew = agent.standing.settling?.status !== 'errored';
  agent.standing.settle(outcome, Date.now());
  if (outcome.status === 'errored') return fail(agent, outcome, isNew);
  const came = await stoppably(agent, untilSettledBelow);
  if (came === 'continue_as_new') return came;
  // It was stopped.
  if (typeof came === 'object') return settle(agent, came);
  if (came === 'settled' && !agent.inbox.hasNotice) return outcome;
  const { max_turns: most } = agent.settings.limits;
  if (most !== undefined && agent.standing.turn >= most)
    return settle(agent, outOfTurns(most, outcome.message));
  nextTurn(agent, outcome.message);
  return 'next_turn';
}

async function fail(
  agent: AgentState,
  outcome: TurnOutcome,
  isNew: boolean,
): Promise<TurnOutcome | 'continue_as_new'> {
  if (isNew && agent.tree?.busy === true) {
    agent.warn(`The turn has failed, and ends when the agents below have settled: ${outcome.message}`);
  }
  // The limit that has stopped it does not stop the waiting, and whoever wants to has to be able to.
  if (agent.running?.limit !== undefined) agent.running = new Stoppable();
  const came = await stoppably(agent, untilSettledBelow);
  if (came === 'continue_as_new') return came;
  if (typeof came !== 'object' || agent.closing !== undefined) return outcome;
  return { ...came, message: `${came.message} (It had failed before: ${outcome.message})` };
}

function nextTurn(agent: AgentState, message: string): void {
  const { standing } = agent;
  const durationMs = Date.now() - standing.turnStarted;
  tellTurnEnded(agent, { status: 'completed', message });
  agent.emit({ type: 'turn.completed', turn: standing.turn, message, duration_ms: durationMs });
  standing.nextTurn(Date.now());
  agent.conversation.beginTurn();
  agent.emit({ type: 'turn.started', turn: standing.turn });
}
