import { proxySinks, type Sinks, workflowInfo } from '@temporalio/workflow';
import { refusalCode } from '../protocol/errors.ts';
import type { AgentId, ErrorCode, PlannedCall, SessionId, ToolOutput, Usage } from '../protocol/index.ts';
import type { AgentState } from './agent-state.ts';
import type { TurnOutcome } from './turn-outcome.ts';

/**
 * What the workflow alone sees the end of, for whoever watches the worker: numbers and names, no text of the
 * conversation. Telling makes no command and leaves nothing in the history; a replay has nothing new to tell.
 */
interface EndedRecord {
  agent_id: AgentId;
  session_id: SessionId;
  role: string;
  depth: number;
  model: string;
  provider: string;
  turn: number;
  /** Milliseconds since the epoch. */
  started: number;
  ended: number;
}

export interface TurnRecord extends EndedRecord {
  parent_id?: AgentId;
  /** The turn of the parent that has spawned the agent. */
  parent_turn?: number;
  steps: number;
  status: TurnOutcome['status'];
  code?: ErrorCode;
  usage?: Usage;
}

/** A tool call that was an operation on the tree; other tools are activities. */
export interface OperationRecord extends EndedRecord {
  step: number;
  call_id: string;
  name: string;
  success: boolean;
  code?: string;
}

export interface TraceSinks extends Sinks {
  cadre: { turnEnded(turn: TurnRecord): void; operationEnded(operation: OperationRecord): void };
}

const { cadre } = proxySinks<TraceSinks>();

export function tellTurnEnded(agent: AgentState, outcome: TurnOutcome): void {
  if (workflowInfo().unsafe.isReplaying) return;
  const { parent_id, parent_turn } = agent.identity;
  const { step: steps, turnStarted, turnUsage: usage } = agent.standing;
  cadre.turnEnded({
    ...endedNow(agent, turnStarted),
    ...(parent_id === undefined ? {} : { parent_id }),
    ...(parent_turn === undefined ? {} : { parent_turn }),
    steps,
    status: outcome.status,
    ...(outcome.status === 'errored' ? { code: outcome.code } : {}),
    ...(usage === undefined ? {} : { usage }),
  });
}

export function tellOperationEnded(
  agent: AgentState,
  { call_id, name }: PlannedCall,
  started: number,
  { success, output }: ToolOutput,
): void {
  if (workflowInfo().unsafe.isReplaying) return;
  const stopped = agent.running?.stopReason === undefined ? undefined : 'cancelled';
  const code = success ? undefined : (refusalCode(output) ?? stopped);
  cadre.operationEnded({
    ...endedNow(agent, started),
    step: agent.standing.step,
    call_id,
    name,
    success,
    ...(code === undefined ? {} : { code }),
  });
}

function endedNow({ identity, settings, standing }: AgentState, started: number): EndedRecord {
  const { agent_id, session_id, depth } = identity;
  const { role, model, provider } = settings;
  const ended = Date.now();
  return { agent_id, session_id, role, depth, model, provider, turn: standing.turn, started, ended };
}
