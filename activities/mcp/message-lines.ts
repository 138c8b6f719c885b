import { deserializeMessage, type JSONRPCMessage } from '@modelcontextprotocol/client';
import { STREAM_ENDED } from './connection-lost.ts';
import { FloodGuard } from './flood-guard.ts';

/** The longest message: an answer with a large file or image in it. */
const MOST_LINE = 32 * 1024 * 1024;
/** Servers say a line or two of their own where messages belong; one that says more speaks something else. */
const MOST_RUBBISH = 1024 * 1024;
const SHOWN = 100;

/** Messages out of what a server writes, a line each. */
export class MessageLines {
  readonly #guard = new FloodGuard();
  #parts: Buffer[] = [];
  #length = 0;
  #rubbish = { lines: 0, bytes: 0, first: '' };

  /** @throws Error for what is more, or longer, than any answer */
  *read(chunk: Buffer): Generator<JSONRPCMessage> {
    this.#guard.take(chunk.length);
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      this.#parts.push(chunk.subarray(start, end));
      start = end + 1;
      // Some begin with a byte order mark.
      const line = Buffer.concat(this.#parts)
        .toString()
        .replace(/^\uFEFF/, '');
      this.#parts = [];
      this.#length = 0;
      this.#guard.take(0, 1);
      const message = this.#message(line);
      if (message !== undefined) yield message;
    }
    const rest = chunk.subarray(start);
    this.#parts.push(rest);
    this.#length += rest.length;
    if (this.#length > MOST_LINE) throw new Error(`it flooded: a line of more than ${MOST_LINE} bytes`);
  }

  /** What was no message; undefined where all was well. */
  get problem(): string | undefined {
    const { lines, first } = this.#rubbish;
    if (lines > 0)
      return `it wrote what is no message of MCP (${lines} lines), first ${JSON.stringify(first)}`;
    if (this.#length === 0) return undefined;
    const begun = Buffer.concat(this.#parts).subarray(0, SHOWN).toString();
    return `it wrote a line that never ended, ${JSON.stringify(begun)}`;
  }

  #message(line: string): JSONRPCMessage | undefined {
    if (line.trim() === '') return undefined;
    try {
      return deserializeMessage(line);
    } catch {
      const rubbish = this.#rubbish;
      if (rubbish.lines === 0) rubbish.first = line.slice(0, SHOWN);
      rubbish.lines++;
      rubbish.bytes += line.length;
      if (rubbish.bytes > MOST_RUBBISH) throw new Error(this.problem);
      return unreadableAnswer(line);
    }
  }
}

/** Whoever asked need not wait for another: what has the id of a request, and asks nothing, was meant as its answer. */
function unreadableAnswer(line: string): JSONRPCMessage | undefined {
  let said: unknown;
  try {
    said = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof said !== 'object' || said === null || 'method' in said || !('id' in said)) return undefined;
  const { id } = said;
  if (typeof id !== 'number' && typeof id !== 'string') return undefined;
  const message = 'it answered with what is no message of MCP';
  return { jsonrpc: '2.0', id, error: { code: 0, message, data: STREAM_ENDED } };
}
