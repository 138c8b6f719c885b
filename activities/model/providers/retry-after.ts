/**
 * How long a provider asks to be left alone, in milliseconds: from `retry-after-ms`, or `retry-after` in seconds or
 * as an HTTP date. Undefined when it does not say, or when the time has already come.
 */
export function retryAfterMs(headers: Headers | undefined, now = Date.now()): number | undefined {
  const ms = numberOf(headers?.get('retry-after-ms'));
  if (ms !== undefined) return positive(ms);
  const after = headers?.get('retry-after')?.trim();
  if (!after) return undefined;
  const seconds = numberOf(after);
  return positive(seconds === undefined ? Date.parse(after) - now : seconds * 1000);
}

function numberOf(text: string | null | undefined): number | undefined {
  return text && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

function positive(ms: number): number | undefined {
  return ms > 0 ? Math.ceil(ms) : undefined;
}
