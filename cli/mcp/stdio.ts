import { pipeline, Writable } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { MessageLines } from './message-lines.ts';

/** A message may be far larger than a task, so that one that is too large is refused, and the connection lives. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;

/** Standard input and output of this process as the way to an MCP client. */
export class ClientLine extends StdioServerTransport {
  /** Resolves when the client has gone. */
  readonly closed: Promise<void>;
  readonly #tellClosed: () => void;

  constructor(stdin = process.stdin, stdout = takeStdout()) {
    const answer = (message: unknown): void => void stdout.write(`${JSON.stringify(message)}\n`);
    const lines = new MessageLines(answer, MESSAGE_BYTES_MAX);
    super(lines, stdout, { maxBufferSize: MESSAGE_BYTES_MAX });
    // However it ends, the transport hears of it from the lines.
    pipeline(stdin, lines, () => {});
    let tell = (): void => {};
    this.closed = new Promise((resolve) => {
      tell = resolve;
    });
    this.#tellClosed = tell;
  }

  override async close(): Promise<void> {
    this.#tellClosed();
    await super.close();
  }
}

/** Only the protocol may go to standard output: from here on whatever else is written there goes to standard error. */
function takeStdout(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  return new Writable({
    decodeStrings: false,
    write: (chunk, encoding, done) => void write(chunk, encoding, done),
  });
}
