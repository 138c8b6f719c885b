import { setTimeout as sleep } from 'node:timers/promises';
import { type CadreHome, playing, type Running } from '../e2e/cadre-home.ts';

export interface RawMessage {
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

/** `cadre mcp-server` and the protocol by hand: whatever is written, and what comes back. */
export class RawMcpClient {
  readonly #server: Running;

  constructor(home: CadreHome) {
    const cwd = home.newFolder('raw');
    this.#server = home.start(['mcp-server', ...playing('mcp.yaml')], { cwd, open: true });
  }

  write(text: string): void {
    this.#server.type(text);
  }

  send(message: unknown): void {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', ...(message as object) })}\n`);
  }

  call(id: number, name: string, args: Record<string, unknown>): void {
    this.send({ id, method: 'tools/call', params: { name, arguments: args } });
  }

  initialize(capabilities: Record<string, unknown> = {}): void {
    const clientInfo = { name: 'raw', version: '0' };
    const params = { protocolVersion: '2025-06-18', capabilities, clientInfo };
    this.send({ id: 'init', method: 'initialize', params });
    this.send({ method: 'notifications/initialized' });
  }

  /** Every line of stdout has to be a message of the protocol. */
  get messages(): RawMessage[] {
    const lines = this.#server.stdout().split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  answerTo(id: unknown): Promise<RawMessage> {
    return this.#message(`answer to ${id}`, (each) => each.method === undefined && each.id === id);
  }

  /** The newest request or notification of the server of this method. */
  asked(method: string): Promise<RawMessage> {
    return this.#message(method, (each) => each.method === method);
  }

  async #message(what: string, isIt: (message: RawMessage) => boolean): Promise<RawMessage> {
    for (const end = Date.now() + 60_000; Date.now() < end; await sleep(50)) {
      const message = this.messages.findLast(isIt);
      if (message !== undefined) return message;
    }
    throw new Error(`no ${what}: ${this.#server.stdout()}\n${this.#server.stderr()}`);
  }

  async end(): Promise<number | null> {
    this.#server.child.stdin?.end();
    return (await this.#server.ended).code;
  }
}
