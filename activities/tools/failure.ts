import {
  CadreError,
  counted,
  ERROR_CODES,
  type ErrorBody,
  refusalOutput,
  type ToolAnswer,
} from '../../protocol/index.ts';
import { inSystemWords } from '../system-reason.ts';

/** Of a message in an error; what is longer was not written for reading. */
const MOST_MESSAGE = 4_000;

/** The answer of a call that came to nothing. */
export function failure(body: ErrorBody): ToolAnswer {
  const answer = {
    output: refusalOutput({ ...body, message: shortened(body.message) }),
    success: false,
  };
  return body.code === 'approval_unavailable' ? { ...answer, approval_missing: true } : answer;
}

/** In the middle: long are names and paths, and the reason stands in front of them or behind. */
function shortened(message: string): string {
  if (message.length <= MOST_MESSAGE) return message;
  const kept = MOST_MESSAGE / 2;
  const rest = counted(message.length - MOST_MESSAGE, 'more character');
  return `${message.slice(0, kept)} [… ${rest} …] ${message.slice(-kept)}`.toWellFormed();
}

/** What is thrown may come from a team's code, too, with whatever in it. */
export function bodyOf(error: unknown, tool: string): ErrorBody {
  if (!(error instanceof CadreError)) {
    const reason = inSystemWords(error) ?? messageOf(error);
    return { code: 'tool_failed', message: `${tool} failed: ${reason}`, retryable: false };
  }
  const { code, hint } = error;
  return {
    code: ERROR_CODES.includes(code) ? code : 'tool_failed',
    message: messageOf(error),
    ...(typeof hint === 'string' ? { hint } : {}),
    retryable: error.retryable === true,
  };
}

export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return 'with something that cannot be shown';
  }
}
