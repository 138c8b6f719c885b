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
/** How far back it is told what an error came from, and of how many that failed together. */
const MOST_CAUSES = 4;

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

/**
 * What is thrown may come from a team's code, too, with whatever in it.
 *
 * @param told what the model reads of an error that is not one of Cadre
 */
export function bodyOf(
  error: unknown,
  tool: string,
  told: (error: unknown) => string = messageOf,
): ErrorBody {
  if (!(error instanceof CadreError)) {
    const reason = inSystemWords(error) ?? told(error);
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
  return withCauses(error, 0);
}

/**
 * With what it came from, where a team's tool has thrown it: `fetch failed` alone helps nobody. Errors of servers of tools
 * have causes in which keys are not hidden.
 */
export function messageWithCauses(error: unknown): string {
  return withCauses(error, MOST_CAUSES);
}

function withCauses(error: unknown, more: number): string {
  try {
    const own = textOf(error);
    // The messages of Cadre's own say it all.
    if (!(error instanceof Error) || error instanceof CadreError || more === 0) return own;
    const origins = error.cause === undefined ? membersOf(error) : [error.cause];
    const told = origins.map((origin) => withCauses(origin, more - 1)).filter((text) => !own.includes(text));
    const from = [...new Set(told)].join('; ');
    return [own, from].filter((text) => text !== '').join(': ');
  } catch {
    return 'with something that cannot be shown';
  }
}

/** Of several that have failed together, as connections to each address of a host do. */
function membersOf(error: Error): unknown[] {
  const { errors } = error as { errors?: unknown };
  return Array.isArray(errors) ? errors.slice(0, MOST_CAUSES) : [];
}

function textOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { message } = error as { message?: unknown };
  if (typeof message === 'string') return message;
  return String(error) === '[object Object]' ? JSON.stringify(error) : String(error);
}
