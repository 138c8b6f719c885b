import { ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import {
  ActivityCancellationType,
  ActivityFailure,
  isCancellation,
  scheduleActivity,
  workflowInfo,
} from '@temporalio/workflow';
import { counted } from '../protocol/counted.ts';
import { ERROR_CODES } from '../protocol/errors.ts';
import type {
  AgentId,
  AgentSettings,
  ArchiveAnswer,
  ArchiveRequest,
  ClosedAgentAnswer,
  ClosedAgentRequest,
  EndCommandsRequest,
  EndedAnswer,
  EndedRequest,
  ErrorBody,
  ErrorCode,
  ItemsAnswer,
  ItemsRequest,
  ModelAnswer,
  ModelRequest,
  PlannedCall,
  PlanRequest,
  RoleAnswer,
  RoleRequest,
  RolloutAnswer,
  RolloutRequest,
  SnapshotAnswer,
  SnapshotRequest,
  StoreAnswer,
  StoreRequest,
  TerminateAnswer,
  TerminateProblem,
  TerminateRequest,
  ToolAnswer,
  ToolRequest,
  Wire,
} from '../protocol/index.ts';
import { MODEL_RETRY_FIRST_MS, MODEL_RETRY_MOST_MS, modelRetryWaitMs } from '../protocol/model-retry.ts';
import { modelQueue } from '../protocol/queues.ts';

/** A worker that takes no call for so long is gone: others do not take what is for it. */
const TAKEN_TIMEOUT = '15 seconds';
/** A worker beats every 250 ms; one that is silent this long is taken for dead. */
const HEARTBEAT_TIMEOUT = '15 seconds';
/** The longest a single model call may take. */
const MODEL_TIMEOUT = '1 hour';

/** The worker's own clock ends the attempts, and says how long it tried; the server's count only bounds them. */
const SPARE_ATTEMPTS = 10;

/** How many attempts fit into the time, with waits of 1, 2, 4 … 30 seconds between them. */
export function attemptsWithin(ms: number): number {
  let attempts = 1;
  for (let spent = modelRetryWaitMs(1); spent <= ms; spent += modelRetryWaitMs(attempts)) attempts++;
  return attempts;
}

/** One model call. Cancelled, it ends at once here, and soon after in the worker. */
export function callModel(
  request: Wire<ModelRequest>,
  settings: AgentSettings,
  summary: string,
): Promise<ModelAnswer> {
  const { model_queue: handsOut = false, provider } = settings;
  return scheduleActivity<ModelAnswer>('model', [request], {
    ...(handsOut ? { taskQueue: modelQueue(workflowInfo().taskQueue, provider) } : {}),
    startToCloseTimeout: MODEL_TIMEOUT,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: {
      initialInterval: MODEL_RETRY_FIRST_MS,
      maximumInterval: MODEL_RETRY_MOST_MS,
      maximumAttempts: attemptsWithin(settings.model_retry_ms) + SPARE_ATTEMPTS,
    },
    summary,
  });
}

/**
 * One call of a tool: at most once where it has effects, tried again where it only reads.
 *
 * @param queue that of the one worker which can do it; undefined where any of the agent's can
 */
export function callTool(
  request: Wire<ToolRequest>,
  plan: Extract<PlannedCall, { kind: 'activity' }>,
  queue?: string,
): Promise<ToolAnswer> {
  return scheduleActivity<ToolAnswer>(plan.name, [request], {
    ...(queue === undefined ? {} : { taskQueue: queue, scheduleToStartTimeout: TAKEN_TIMEOUT }),
    startToCloseTimeout: plan.timeout_ms,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: plan.effects === 'some' ? 1 : 5 },
    summary: plan.summary === '' ? plan.name : `${plan.name} · ${plan.summary}`,
  });
}

export function resolveRole(request: RoleRequest, summary: string): Promise<RoleAnswer> {
  return scheduleActivity<RoleAnswer>('resolve_role', [request], {
    startToCloseTimeout: '1 minute',
    // It sends no heartbeats, so it would learn of an interrupt only when it is done.
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: 10 },
    summary,
  });
}

export function planCall(request: Wire<PlanRequest>, summary: string): Promise<PlannedCall> {
  return scheduleActivity<PlannedCall>('plan_call', [request], {
    startToCloseTimeout: '1 minute',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: 10 },
    summary,
  });
}

/** An agent that reads an earlier run says nothing until that is done, or given up: with the waits, after a minute. */
const READ_ATTEMPTS = 6;

/** What an agent was in an earlier run of it. */
export function readSnapshot(request: SnapshotRequest): Promise<SnapshotAnswer> {
  return scheduleActivity<SnapshotAnswer>('read_snapshot', [request], {
    startToCloseTimeout: '2 minutes',
    retry: { maximumAttempts: READ_ATTEMPTS },
    summary: `resume from ${request.run_id}`,
  });
}

export function readItems(request: ItemsRequest): Promise<ItemsAnswer> {
  return scheduleActivity<ItemsAnswer>('read_items', [request], {
    startToCloseTimeout: '2 minutes',
    retry: { maximumAttempts: READ_ATTEMPTS },
    summary: `items ${request.from} to ${request.to} of ${request.agent_id}`,
  });
}

export function findClosedAgent(request: ClosedAgentRequest): Promise<ClosedAgentAnswer> {
  return scheduleActivity<ClosedAgentAnswer>('find_closed_agent', [request], {
    startToCloseTimeout: '1 minute',
    retry: { maximumAttempts: READ_ATTEMPTS },
    summary: `look for ${request.agent_id}`,
  });
}

export function findEnded(request: EndedRequest): Promise<EndedAnswer> {
  return scheduleActivity<EndedAnswer>('find_ended', [request], {
    startToCloseTimeout: '1 minute',
    retry: { maximumAttempts: READ_ATTEMPTS },
    summary: `look whether ${counted(request.agents.length, 'agent')} still run`,
  });
}

export function storeOutputs(request: StoreRequest): Promise<StoreAnswer> {
  return scheduleActivity<StoreAnswer>('store_outputs', [request], {
    startToCloseTimeout: '30 seconds',
    // Where it cannot be done soon, the model goes on with what it is shown.
    scheduleToCloseTimeout: '1 minute',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: 3 },
    summary: `store ${counted(request.texts.length, 'long text')}`,
  });
}

/** A session that has closed is not kept from ending by this, whatever comes of it. */
export function writeRollout(request: RolloutRequest): Promise<RolloutAnswer> {
  return scheduleActivity<RolloutAnswer>('write_rollout', [request], {
    // It gives itself up when nothing comes any more; a large session on a busy machine takes its time. While nobody
    // works for the session it waits.
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: 3 },
    summary: 'write the rollout',
  });
}

/** Tried again it finds what it has written. */
export function archiveAgent(request: ArchiveRequest): Promise<ArchiveAnswer> {
  return scheduleActivity<ArchiveAnswer>('archive_agent', [request], {
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: 3 },
    summary: `archive ${request.agent_id}`,
  });
}

/** Ends what an agent has left running on a worker; one that is gone has ended it already. */
export function endCommands(agent_id: AgentId, queue: string | undefined): Promise<void> {
  return scheduleActivity<void>('end_commands', [{ agent_id } satisfies EndCommandsRequest], {
    ...(queue === undefined ? {} : { taskQueue: queue }),
    scheduleToStartTimeout: '5 seconds',
    startToCloseTimeout: '10 seconds',
    retry: { maximumAttempts: 1 },
    summary: `end the commands of ${agent_id}`,
  });
}

export function terminateAgents(request: TerminateRequest): Promise<TerminateAnswer> {
  return scheduleActivity<TerminateAnswer>('terminate_agents', [request], {
    startToCloseTimeout: '1 minute',
    retry: { maximumAttempts: 10 },
    summary: `terminate ${request.agent_id}`,
  });
}

/** What of the agents to be ended was, and was not, where the activity has failed. */
export function terminateProblem(error: unknown): TerminateProblem | undefined {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (!(cause instanceof ApplicationFailure)) return undefined;
  const [detail] = (cause.details ?? []) as (TerminateProblem | undefined)[];
  return Array.isArray(detail?.not_terminated) ? detail : undefined;
}

/** The type of the failure that the SDK reports for what a worker that shuts down has cut off. */
const WORKER_SHUTDOWN = 'WorkerShutdown';

/** Why an activity failed, in words. */
export type ActivityProblem =
  | { kind: 'cancelled' }
  /** Its worker died, was shut down, or took too long: nobody knows how far it came. */
  | { kind: 'lost'; message: string; neverBegan?: true }
  | { kind: 'failed'; code: ErrorCode; message: string };

export function problemOf(error: unknown): ActivityProblem {
  if (isCancellation(error)) return { kind: 'cancelled' };
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) {
    const neverBegan = cause.timeoutType === 'SCHEDULE_TO_START';
    const message =
      cause.timeoutType === 'HEARTBEAT' ? 'its worker was lost, or cut off from the server' : cause.message;
    return { kind: 'lost', message, ...(neverBegan ? { neverBegan } : {}) };
  }
  if (cause instanceof ApplicationFailure && cause.type === WORKER_SHUTDOWN) {
    return { kind: 'lost', message: 'its worker was shut down' };
  }
  if (cause instanceof ApplicationFailure) {
    // Errors that are not Cadre's own come with the name of their class.
    const code = ERROR_CODES.find((code) => code === cause.type) ?? 'internal';
    return { kind: 'failed', code, message: cause.message };
  }
  return {
    kind: 'failed',
    code: 'internal',
    message: cause instanceof Error ? cause.message : String(cause),
  };
}

/** The same as an error that travels. */
export function bodyOf(error: unknown): ErrorBody {
  const problem = problemOf(error);
  if (problem.kind === 'failed') return { code: problem.code, message: problem.message };
  return { code: 'internal', message: problem.kind === 'cancelled' ? 'it was cancelled' : problem.message };
}
