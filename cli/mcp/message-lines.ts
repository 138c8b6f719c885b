import { Transform, type TransformCallback } from 'node:stream';
import { parseJSONRPCMessage } from '@modelcontextprotocol/server';

const NEWLINE = 0x0a;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/**
 * The lines of a client on their way to the server, which drops without a word what is no message: whoever has written
 * such a line is told here, and an answer that is none is passed on as an error, since somebody waits for it.
 */
export class MessageLines extends Transform {
  readonly #answer: (message: unknown) => void;
  readonly #bytesMax: number;
  #begun: Buffer[] = [];
  #bytes = 0;

  /**
   * @param answer sends a message to the client
   * @param bytesMax what is longer than this without an end is passed on as it is, for the server to refuse
   */
  constructor(answer: (message: unknown) => void, bytesMax: number) {
    super();
    this.#answer = answer;
    this.#bytesMax = bytesMax;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let rest = chunk;
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      this.#keep(rest.subarray(0, end + 1));
      rest = rest.subarray(end + 1);
      this.#line(this.#taken());
    }
    this.#keep(rest);
    if (this.#bytes > this.#bytesMax) this.push(this.#taken());
    done();
  }

  #keep(part: Buffer): void {
    this.#begun.push(part);
    this.#bytes += part.length;
  }

  #taken(): Buffer {
    const line = Buffer.concat(this.#begun);
    this.#begun = [];
    this.#bytes = 0;
    return line;
  }

  #line(line: Buffer): void {
    const text = line.toString('utf8').trim();
    if (text === '') return;
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      this.#refuse(null, PARSE_ERROR, 'Parse error: a line is one message in JSON.');
      return;
    }
    try {
      parseJSONRPCMessage(message);
      this.push(line);
    } catch {
      this.#noMessage(message);
    }
  }

  #noMessage(message: unknown): void {
    const { id, method } = typeof message === 'object' && message !== null ? (message as Envelope) : {};
    const known = typeof id === 'string' || typeof id === 'number' ? id : null;
    if (method === undefined && known !== null) {
      const error = { code: INVALID_REQUEST, message: 'The answer is none of the protocol.' };
      this.push(`${JSON.stringify({ jsonrpc: '2.0', id: known, error })}\n`);
    } else {
      const why = Array.isArray(message)
        ? 'batches are not taken, send one message a line.'
        : 'this is no JSON-RPC message.';
      this.#refuse(known, INVALID_REQUEST, `Invalid request: ${why}`);
    }
  }

  #refuse(id: string | number | null, code: number, message: string): void {
    this.#answer({ jsonrpc: '2.0', id, error: { code, message } });
  }
}

interface Envelope {
  id?: unknown;
  method?: unknown;
}
