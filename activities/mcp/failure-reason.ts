import { withNulShown } from '../with-nul-shown.ts';
import { statusOf } from './connection-lost.ts';

/** Of what a server says of a failure; it ends up in the history of an agent, and in its conversation. */
const MOST = 2_000;

/** What is behind an answer of HTTP, most often. */
const HINTS: Readonly<Record<number, string>> = {
  401: ' (it may want a token: bearer_token_env_var)',
  403: ' (it may want a token: bearer_token_env_var)',
  404: ' (url has to be that of its streamable HTTP; the older HTTP with SSE is not spoken)',
  405: ' (url has to be that of its streamable HTTP; the older HTTP with SSE is not spoken)',
};

export function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'REQUEST_TIMEOUT';
}

/**
 * Why a request came to nothing. `fetch failed` says nothing; what it has come from does.
 *
 * @param startMs how long it was waited for
 */
export function reasonOf(error: Error, startMs: number): string {
  if (isTimeout(error)) return `it did not answer within ${startMs} ms`;
  const status = statusOf(error);
  if (status !== undefined) return `it answered HTTP ${status}${HINTS[status] ?? ''}: ${error.message}`;
  const { cause } = error;
  const code = cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : undefined;
  const said = inWords(error);
  return code === undefined || said.includes(code) ? said : `${said} (${code})`;
}

/** The message of an error; a check of the SDK that fails says all that it has tried, as JSON of many lines. */
export function inWords({ message }: Error): string {
  return message.replace(/\[\n {2}\{.*\]$/s, 'it answered with what is no message of MCP');
}

export function shortened(reason: string): string {
  const shown = withNulShown(reason);
  return shown.length <= MOST ? shown : `${shown.slice(0, MOST)} … (${shown.length - MOST} characters more)`;
}
