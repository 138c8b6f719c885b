import { proxySinks, type Sinks, workflowInfo } from '@temporalio/workflow';
import type { AgentId, ErrorCode, SessionId, Usage } from '../protocol/index.ts';
import type { AgentState } from './agent-state.ts';
import type { TurnOutcome } from './turn-outcome.ts';

/** A turn that has ended, for whoever watches the worker: numbers and names, no text of the conversation. */
export interface TurnRecord {
  agent_id: AgentId;
  session_id: SessionId;
  parent_id?: AgentId;
  /** The turn of the parent that has spawned the agent. */
  parent_turn?: number;
  role: string;
  depth: number;
  model: string;
  provider: string;
  turn: number;
  steps: number;
  /** Milliseconds since the epoch. */
  started: number;
  ended: number;
  status: TurnOutcome['status'];
  code?: ErrorCode;
  usage?: Usage;
}

export interface TurnSinks extends Sinks {
  cadre: { turnEnded(turn: TurnRecord): void };
}

const { cadre } = proxySinks<TurnSinks>();

/** Tells the worker, which makes no command and leaves nothing in the history. Replay has nothing new to tell. */
export function tellTurnEnded({ identity, settings, standing }: AgentState, outcome: TurnOutcome): void {
  if (workflowInfo().unsafe.isReplaying) return;
  const { agent_id, session_id, parent_id, parent_turn, depth } = identity;
  const { role, model, provider } = settings;
  const usage = standing.turnUsage;
  cadre.turnEnded({
    agent_id,
    session_id,
    ...(parent_id === undefined ? {} : { parent_id }),
    ...(parent_turn === undefined ? {} : { parent_turn }),
    role,
    depth,
    model,
    provider,
    turn: standing.turn,
    steps: standing.step,
    started: standing.turnStarted,
    ended: Date.now(),
    status: outcome.status,
    ...(outcome.status === 'errored' ? { code: outcome.code } : {}),
    ...(usage === undefined ? {} : { usage }),
  });
}
