/** About how many bytes of text make one token, over languages and models. */
const BYTES_PER_TOKEN = 4;
/** However high the limit is set: an output has to fit into one page of a conversation and one payload. */
const MOST_BYTES = 256 * 1024;
/** However low: a cut has to leave something to read. */
const LEAST_BYTES = 256;

export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** How many bytes an output may have under a limit of tokens. */
export function bytesWithin(limitTokens: number): number {
  return Math.max(LEAST_BYTES, Math.min(limitTokens * BYTES_PER_TOKEN, MOST_BYTES));
}
