import {
  isGrpcServiceError,
  QueryNotRegisteredError,
  QueryRejectedError,
  ServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure, NamespaceNotFoundError } from '@temporalio/common';
import {
  type AgentId,
  CadreError,
  ERROR_CODES,
  type ErrorBody,
  type ErrorCode,
  endedUnborn,
  isOfOtherVersion,
  missingKeyHint,
  noNamespace,
  sealedReason,
  sessionOf,
  unreplayable,
} from '../protocol/index.ts';

const CANCELLED = 1;
const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;

/** The same for a question to an agent, which takes a worker to be answered. */
export function translateAnswer(error: unknown, agent: AgentId): CadreError {
  const { code, details = '' } = grpcError(error) ?? {};
  if (code === FAILED_PRECONDITION && endedUnborn(details)) return unborn(agent, error);
  if (code === DEADLINE_EXCEEDED || code === FAILED_PRECONDITION || code === CANCELLED) {
    return noWorker(agent, error);
  }
  return translate(error, agent);
}

/** Makes a CadreError of whatever the Temporal client throws. */
export function translate(error: unknown, agent?: AgentId): CadreError {
  if (error instanceof CadreError) return error;
  if (error instanceof WorkflowNotFoundError) return notFound(agent);
  if (error instanceof NamespaceNotFoundError) return noNamespace(error.message);
  if (error instanceof WorkflowUpdateFailedError) return refusedUpdate(error, agent);
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return noWorker(agent, error);
  if (error instanceof QueryNotRegisteredError) return unanswered(error, agent);
  if (error instanceof QueryRejectedError) return noAgent(agent, error);
  const grpc = grpcError(error);
  if (grpc?.code === NOT_FOUND) return notFound(agent, grpc.details);
  if (grpc !== undefined && LOST.has(grpc.code)) return unreachable(grpc, error);
  if (grpc !== undefined && isTooLarge(grpc)) return tooLarge(grpc.details, error);
  const message = error instanceof Error ? error.message : String(error);
  // Temporal's client says what it was about to do, the server why that failed.
  const reason = grpc === undefined || grpc.details === '' ? message : `${message}: ${grpc.details}`;
  return new CadreError('internal', agent === undefined ? reason : `${agent}: ${reason}`, { cause: error });
}

/**
 * Passes on what an agent has answered, or what stands in its memo.
 *
 * @throws CadreError `key_missing` for what is sealed with a key that is not here
 */
export function requireKey<T>(agent: AgentId, answer: T): T {
  const sealed = sealedReason(answer);
  if (sealed === undefined) return answer;
  throw new CadreError('key_missing', `agent ${agent} cannot be read: ${sealed.reason}.`, {
    hint: missingKeyHint(sealed.key_id),
  });
}

/** Whether nobody has answered in time. */
export function isLate(error: unknown): boolean {
  return grpcError(error)?.code === DEADLINE_EXCEEDED;
}

/** Whether the server has seen no worker, which may be about to come: a command brings one along. */
export function isUnserved(error: unknown): boolean {
  const { code, details = '' } = grpcError(error) ?? {};
  return code === FAILED_PRECONDITION && /no poller/i.test(details);
}

function unborn(agent: AgentId, cause: unknown): CadreError {
  const message = `agent ${agent} was ended from outside before it began: it has done nothing.`;
  return new CadreError('agent_not_resumable', message, {
    hint: 'Start another one; what it was to do stands in its first event in the Temporal Web UI.',
    cause,
  });
}

const LOST = new Set([CANCELLED, DEADLINE_EXCEEDED, UNAVAILABLE, UNIMPLEMENTED]);

function unreachable({ code, details }: GrpcError, cause: unknown): CadreError {
  const message =
    code === UNIMPLEMENTED
      ? `What answers there is no Temporal server that Cadre can use: ${details}`
      : `The Temporal server does not answer any more: ${details}`;
  return new CadreError('temporal_unreachable', message, {
    hint: 'Look at `cadre server status`, or at the server you gave with --address or TEMPORAL_ADDRESS.',
    retryable: code !== UNIMPLEMENTED,
    cause,
  });
}

const TOO_LARGE = /size.*limit|larger than max/i;
/** What workers say that do not know a question, in whatever language. */
const UNKNOWN_QUERY =
  /did not register a handler|unknown query ?type|query handler .*(expected but not found|not registered)/i;

/** What a worker says that lacks the key of an agent (`workflows/readable.ts`). */
const KEYLESS = /This worker cannot work for the agent/;

/** Whether a worker has failed at a question that lacks a key; another one of its queue may have it. */
export function isWithoutKey(error: unknown): error is QueryNotRegisteredError {
  return error instanceof QueryNotRegisteredError && KEYLESS.test(error.message);
}

/** What the message of a failure becomes that is sealed: which one it is, the server does not say. */
const SEALED = 'Encoded failure';

/** Whether a workflow does not know, or not yet, what it is asked for. */
export function isUnknownQuery(error: unknown): boolean {
  if (!(error instanceof QueryNotRegisteredError)) return false;
  return UNKNOWN_QUERY.test(error.message) || error.message === SEALED;
}

/** Temporal's client calls all questions so that the server says are wrong. */
function unanswered(error: QueryNotRegisteredError, agent: AgentId | undefined): CadreError {
  const { message } = error;
  if (isUnknownQuery(error)) return noAgent(agent, error);
  if (isWithoutKey(error)) {
    return new CadreError('no_worker', `agent ${agent} does not answer. Its worker said: ${message}`, {
      hint: 'Give all workers of its queue the same keys ([encryption]: docs/encryption.md), and try again.',
      retryable: true,
      cause: error,
    });
  }
  if (isOfOtherVersion(message)) return unreplayable(agent, message, error);
  if (!TOO_LARGE.test(message)) {
    return new CadreError('invalid_arguments', `agent ${agent} does not answer that: ${message}`, {
      cause: error,
    });
  }
  return new CadreError('internal', `The answer of agent ${agent} is too large for Temporal: ${message}`, {
    hint: 'A namespace sets what one answer may hold (limit.blobSize.error); 2 MiB are usual, and needed.',
    cause: error,
  });
}

function noAgent(agent: AgentId | undefined, cause: unknown): CadreError {
  return new CadreError('agent_not_found', `${agent} is a workflow, but not an agent of Cadre.`, { cause });
}

function isTooLarge({ code, details }: GrpcError): boolean {
  return (code === INVALID_ARGUMENT || code === RESOURCE_EXHAUSTED) && TOO_LARGE.test(details);
}

function tooLarge(details: string, cause: unknown): CadreError {
  return new CadreError('invalid_arguments', `That is too large for Temporal: ${details}`, {
    hint: 'Put what is large into a file, and name the file instead.',
    cause,
  });
}

function notFound(agent: AgentId | undefined, details = ''): CadreError {
  if (details.toLowerCase().includes('namespace')) return noNamespace(details);
  return new CadreError('agent_not_found', `There is no agent ${agent ?? ''}`.trimEnd(), {
    hint: '`cadre ps --all` lists what there is; closed agents are kept for the retention of the namespace.',
  });
}

function noWorker(agent: AgentId | undefined, cause: unknown): CadreError {
  return new CadreError('no_worker', `Nobody works for agent ${agent ?? ''}: it did not answer.`, {
    hint: `\`cadre attach ${agent === undefined ? 'ID' : sessionOf(agent)}\` works for a local session, \`cadre worker\` for all of them, \`cadre worker --queue NAME\` for those of a queue; then try again.`,
    retryable: true,
    cause,
  });
}

function refusedUpdate(error: WorkflowUpdateFailedError, agent: AgentId | undefined): CadreError {
  const { cause } = error;
  if (cause instanceof ApplicationFailure) {
    const code = ERROR_CODES.find((code) => code === cause.type) ?? ('internal' satisfies ErrorCode);
    const body = cause.details?.[0] as Partial<ErrorBody> | null | undefined;
    const { message = cause.message, hint, retryable } = body ?? {};
    return new CadreError(code, message, {
      cause: error,
      ...(hint === undefined ? {} : { hint }),
      ...(retryable === undefined ? {} : { retryable }),
    });
  }
  return new CadreError('internal', `${agent}: ${error.message}`, { cause: error });
}

interface GrpcError {
  code: number;
  details: string;
}

function grpcError(error: unknown): GrpcError | undefined {
  const candidate = error instanceof ServiceError ? error.cause : error;
  if (isGrpcServiceError(candidate)) return { code: candidate.code, details: candidate.details };
  return undefined;
}
