import type { SessionResult } from '../../client/types.ts';
import {
  type CadreError,
  ERROR_CODES,
  type ErrorBody,
  type ErrorCode,
  type SessionId,
} from '../../protocol/index.ts';
import {
  EXIT,
  type ExitCode,
  exitCodeOfError,
  exitCodeOfOutcome,
  failedWithoutApproval,
} from '../exit-codes.ts';
import { fullError } from '../full-error.ts';
import type { Invocation } from '../invocation.ts';
import type { Followed } from './follow.ts';

/**
 * What a session that was followed is reported as, and the exit code of that.
 *
 * @param unwritten why its answer could not be put where it was wanted besides
 */
export function report(
  { output }: Invocation,
  session: SessionId,
  followed: Followed,
  startedAt: number,
  unwritten?: CadreError,
): ExitCode {
  if (followed.kind === 'left') {
    const { exitCode, works } = followed;
    // As text it has been told already how to come back.
    if (output.format !== 'text')
      output.line({ error: errorOfLeaving(session, exitCode, works), session_id: session });
    return exitCode;
  }
  const { result, agents } = followed;
  const endedWell = exitCodeOfOutcome(result) === EXIT.done;
  if (!endedWell && unwritten !== undefined) output.warn(unwritten.message);
  const error = endedWell ? unwritten?.body : errorOfEnd(result);
  const summary = { ...summaryOf(result, startedAt, error), agents };
  output.result(summary, result.status === 'completed' ? result.output : '');
  if (error !== undefined && output.format === 'text') output.error(error);
  return endedWell && error !== undefined ? exitCodeOfError(error.code) : exitCodeOfOutcome(result);
}

/** What a session has come to, whoever is told. */
export function summaryOf(result: SessionResult, startedAt: number, error = errorOfEnd(result)) {
  const { session_id, status, output, usage } = result;
  const duration_ms = Math.round(Date.now() - startedAt);
  const failure = error === undefined ? {} : { error: fullError(error) };
  return { session_id, status, output, usage, duration_ms, ...failure };
}

function errorOfLeaving(session: SessionId, exitCode: ExitCode, works: string): ErrorBody {
  return {
    code: exitCode === EXIT.ended ? 'timeout' : 'interrupted',
    message: `${session} was left before its end: ${works}`,
    hint: `Come back with: cadre attach ${session}`,
    retryable: true,
  };
}

/** Why a session did not end well; undefined where it did. */
function errorOfEnd(result: SessionResult): ErrorBody | undefined {
  if (exitCodeOfOutcome(result) === EXIT.done) return undefined;
  const { session_id: session, status, output } = result;
  const text = output === '' ? '' : `: ${output}`;
  const ended = status === 'shutdown' ? 'was closed before it had an answer' : `ended ${status}`;
  return {
    code: codeOf(result),
    message: `agent ${session} ${ended}${text}`,
    hint: `\`cadre items ${session}\` shows its conversation.`,
    retryable: exitCodeOfOutcome(result) === EXIT.unreachable,
  };
}

function codeOf(result: SessionResult): ErrorCode {
  const { status, code } = result;
  if (failedWithoutApproval(result)) return 'approval_unavailable';
  if (status === 'interrupted') return 'interrupted';
  if (status === 'shutdown') return 'agent_closed';
  // A newer worker may know more codes than this command line.
  return ERROR_CODES.find((known) => known === code) ?? 'internal';
}
