import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import { CadreError } from '../../../protocol/index.ts';
import { ModelError } from '../model-error.ts';
import { BrokenAnswer, CutAnswer, FailedAnswer } from './broken-answer.ts';
import { type Endpoint, shownUrl } from './endpoint.ts';
import { retryAfterMs } from './retry-after.ts';

const MESSAGE_MAX = 1_000;
const WRITTEN_MAX = 2_000;
/** Statuses below 500 that may pass when the call is tried again. */
const MAY_PASS = [408, 409, 425, 429];
/** Codes that stand for a lasting refusal even where the status says "later". */
const LASTING = ['insufficient_quota', 'billing_hard_limit_reached'];
/** How servers in use say that a conversation is more than the model takes; some of them with a status of 500. */
const TOO_LONG =
  /context_length_exceeded|exceed_context_size|maximum context length|context (size|window|length)|(prompt|input) is too long/i;
/** Codes with which a provider says in the middle of an answer that it was at fault itself. */
const PASSING = /server_error|api_error|rate_limit|overloaded|timeout|unavailable|internal|5\d\d|429/i;

/**
 * What went wrong with a call, in our words: whether it may pass, how long to wait, and what to do else. The key
 * never stands in it, even where the provider repeats it. Errors of our own code come back unchanged.
 */
export function modelError(error: unknown, endpoint: Endpoint): unknown {
  if (error instanceof CadreError) return error;
  const where = `${endpoint.provider} (${shownUrl(endpoint.baseUrl)})`;
  const clean = (text: string) => cleaned(text, endpoint);

  if (error instanceof BrokenAnswer || error instanceof SyntaxError) {
    const lost = error instanceof BrokenAnswer && !error.nothing;
    const what = error instanceof BrokenAnswer ? error.message : 'the answer is not valid JSON';
    return new ModelError(lost ? 'model_unreachable' : 'model_answer_unreadable', `${where}: ${what}`, {
      hint: 'Check that the base URL is that of an OpenAI-compatible API.',
      retryable: true,
    });
  }
  if (error instanceof CutAnswer) {
    const written = error.written === '' ? '' : ` It had written: ${error.written.slice(0, WRITTEN_MAX)}`;
    return new ModelError('model_refused', `${where}: ${error.message}.${written}`, {
      hint: 'Ask for less in one answer, or use a model with a larger output limit.',
    });
  }
  if (error instanceof FailedAnswer) {
    if (TOO_LONG.test(`${error.code} ${error.message}`))
      return tooLong(`${where} answered ${clean(error.message)}`);
    const passing = error.code === undefined || PASSING.test(error.code);
    return answered(where, clean(error.message), passing);
  }
  if (error instanceof APIConnectionTimeoutError) {
    return unreachable(where, 'no answer in time');
  }
  if (error instanceof APIConnectionError) {
    return unreachable(where, clean(reasonOf(error)));
  }
  if (error instanceof APIError) return apiFailure(error, where, endpoint);
  if (isTransport(error)) return unreachable(where, clean(reasonOf(error)));
  return error;
}

/** Whether a provider's words say that a conversation is more than the model takes. */
export function isTooLong(text: string): boolean {
  return TOO_LONG.test(text);
}

/** Whether the provider means that it does not know the model, not that the address is wrong. */
export function isUnknownModel(error: unknown): boolean {
  if (!(error instanceof APIError) || (error.status !== 404 && error.status !== 400)) return false;
  return (
    error.code === 'model_not_found' || (error.status === 404 && /model/i.test(bodyMessage(error) ?? ''))
  );
}

function apiFailure(error: APIError, where: string, endpoint: Endpoint): ModelError {
  const status = error.status as number | undefined;
  const said = cleaned(bodyMessage(error) ?? error.message, endpoint);
  const code = `${error.code ?? ''} ${error.type ?? ''}`.trim();
  if (status !== 429 && TOO_LONG.test(`${code} ${said}`)) {
    return tooLong(`${where} answered ${status === undefined ? '' : `${status}: `}${said}`);
  }
  const lasting = LASTING.some((known) => code.includes(known));
  if (status === undefined) {
    const passing = !lasting && (code === '' || PASSING.test(code));
    return answered(where, said, passing, retryAfterMs(error.headers as Headers | undefined));
  }
  const passing = !lasting && (status >= 500 || MAY_PASS.includes(status));
  const message = `${status}: ${said}`;
  if (passing) return answered(where, message, true, retryAfterMs(error.headers as Headers | undefined));
  return new ModelError('model_refused', `${where} answered ${message}`, {
    hint: refusalHint(status, endpoint),
  });
}

function answered(where: string, said: string, passing: boolean, after?: number): ModelError {
  return new ModelError(passing ? 'model_unreachable' : 'model_refused', `${where} answered ${said}`, {
    hint: passing ? undefined : 'The provider says what it does not accept.',
    retryable: passing,
    retryAfterMs: after,
  });
}

function tooLong(message: string): ModelError {
  return new ModelError('context_full', message, { hint: 'The conversation is more than this model takes.' });
}

function unreachable(where: string, reason: string): ModelError {
  return new ModelError('model_unreachable', `${where} could not be reached: ${reason}`, {
    hint: 'Check the base URL and the network.',
    retryable: true,
  });
}

function refusalHint(status: number, endpoint: Endpoint): string {
  const { keyVariable, key } = endpoint;
  if (status === 401 || status === 403) {
    if (key !== undefined)
      return `The key came from ${keyVariable}: check that it is valid and may use this model.`;
    return keyVariable === undefined
      ? `No key was sent: name the variable that holds it as env_key under [model_providers.${endpoint.provider}].`
      : `No key was sent: set ${keyVariable}.`;
  }
  if (status === 429 || status === 402) return 'The account has no budget left for this.';
  if (status === 404 || status === 405)
    return 'Check the base URL (it usually ends in /v1), wire_api and the model.';
  if (status === 413) return 'The conversation is too large for this provider.';
  return 'The provider says what it does not accept.';
}

/** The provider's own words, from the bodies that servers in use send. */
function bodyMessage(error: APIError): string | undefined {
  const body = error.error as unknown;
  if (typeof body === 'string') return body;
  if (typeof body !== 'object' || body === null) return undefined;
  const { message, detail } = body as { message?: unknown; detail?: unknown };
  return [message, detail].find((text): text is string => typeof text === 'string' && text !== '');
}

function cleaned(text: string, endpoint: Endpoint): string {
  const bare =
    text.trim().startsWith('<') || /^\d{3} </.test(text) ? '(a web page, not an API answer)' : text;
  const safe = endpoint.key === undefined ? bare : bare.replaceAll(endpoint.key, '[key]');
  return safe.replaceAll(/\s+/g, ' ').trim().slice(0, MESSAGE_MAX);
}

/** The innermost reason: `fetch failed` says nothing, `ECONNREFUSED` does. */
function reasonOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause !== undefined) inner = inner.cause;
  if (!(inner instanceof Error)) return String(inner);
  const code = (inner as NodeJS.ErrnoException).code;
  const message = inner.message === '' ? inner.name : inner.message;
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}

/** What fetch throws when a connection is lost in the middle of an answer. */
function isTransport(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const codes = [error, error.cause].map((at) =>
    String((at as NodeJS.ErrnoException | undefined)?.code ?? ''),
  );
  return (
    (error instanceof TypeError && /terminated|fetch failed|network/i.test(error.message)) ||
    codes.some((code) =>
      /^(UND_ERR_|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ERR_HTTP|ERR_STREAM|HPE_)/.test(code),
    )
  );
}
