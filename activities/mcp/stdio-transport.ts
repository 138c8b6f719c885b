import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import type { Duplex, Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client';
import { killQuietly, killStrays, MARK_NAME } from '../sandbox/strays.ts';
import { withoutTerminals } from '../sandbox/terminal.ts';
import { watchdog } from '../sandbox/watchdog.ts';
import { NotSent } from './connection-lost.ts';
import { MessageLines } from './message-lines.ts';
import { StderrTail } from './stderr-tail.ts';

export interface StdioServer {
  command: string;
  args: readonly string[];
  cwd: string;
  environment: Readonly<Record<string, string>>;
  /** Never shown, whatever the server writes. */
  secrets: readonly string[];
}

/** Waits for leave to start: a worker that died before its watchdog knew of the server never gives it. */
const GATE = 'read -r leave <&3 || exit 125; exec 3<&-; exec "$@"';
/** How long a server may take to end by itself when its input closes, and again when it is told to. */
const GRACE_MS = 500;
/** Why one is gone that the worker has no more use for. */
const CLOSED = 'it was closed';

/**
 * A server that this worker starts, in a session of its own. It ends with the worker, however that ends, and takes along
 * what it has started.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #server: StdioServer;
  readonly #stderr: StderrTail;
  readonly #lines = new MessageLines();
  readonly #mark = randomUUID();
  readonly #started = performance.now();
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined;
  #exited: Promise<unknown> = Promise.resolve();
  #ended: string | undefined;
  #closing: Promise<void> | undefined;

  constructor(server: StdioServer) {
    this.#server = server;
    this.#stderr = new StderrTail(server.secrets);
  }

  /** Why it ended by itself; undefined while it is there, and where the worker has closed it. */
  get ended(): string | undefined {
    return this.#ended === CLOSED ? undefined : this.#ended;
  }

  get isUp(): boolean {
    return this.#ended === undefined;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get stderr(): string {
    return this.#stderr.text;
  }

  /** What it wrote that is no message. */
  get rubbish(): string | undefined {
    return this.#lines.problem;
  }

  async start(): Promise<void> {
    const { command, args, cwd, environment } = this.#server;
    const folder = await stat(cwd).catch(() => undefined);
    if (!folder?.isDirectory()) throw new Error(`its working directory is no folder: ${cwd}`);
    const child = spawn('/bin/sh', ['-c', GATE, 'cadre-mcp', command, ...args], {
      cwd,
      detached: true,
      env: { ...environment, [MARK_NAME]: this.#mark },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', ...withoutTerminals(4)],
    }) as unknown as ChildProcessByStdio<Writable, Readable, Readable>;
    this.#exited = once(child, 'exit').catch(() => {});
    child.once('error', (error) => void this.#end(error.message));
    const drained = once(child.stdout, 'end').catch(() => {});
    child.once('exit', (code, signal) => {
      this.#ended ??= `it ended with ${signal ?? `exit code ${code}`}`;
      // What it said last is still read.
      void Promise.race([drained, sleep(GRACE_MS)]).then(() => this.#end(''));
    });
    void drained
      .then(() => Promise.race([this.#exited, sleep(GRACE_MS)]))
      .then(() => this.#end('it closed its output'));
    child.stdin.on('error', (error) => this.onerror?.(error));
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr.on('data', (chunk: Buffer) => this.#stderr.add(chunk));
    const gate = child.stdio[3] as unknown as Duplex;
    gate.on('error', () => {});
    if (child.pid === undefined) throw new Error('it could not be started');
    this.#child = child;
    await watchdog.guard(child.pid, this.#mark);
    gate.end('go\n');
  }

  send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#ended !== undefined) {
      return Promise.reject(new NotSent(this.#ended ?? 'it was not started'));
    }
    return new Promise((resolve, reject) => {
      child.stdin.write(serializeMessage(message), (error) =>
        error ? void this.#unsent(error).then(reject) : resolve(),
      );
    });
  }

  /** A pipe that nobody reads any more says nothing: how its program has ended, which is heard of after it, does. */
  async #unsent(cause: Error): Promise<NotSent> {
    await Promise.race([this.#exited, sleep(GRACE_MS)]);
    return new NotSent(this.#ended ?? cause.message, { cause });
  }

  async close(): Promise<void> {
    this.#ended ??= CLOSED;
    this.#child?.stdin.end();
    await Promise.race([this.#exited, sleep(GRACE_MS)]);
    await this.#end(CLOSED);
  }

  #read(chunk: Buffer): void {
    try {
      for (const message of this.#lines.read(chunk)) {
        if (this.#closing === undefined) this.onmessage?.(message);
      }
    } catch (error) {
      this.#child?.stdout.destroy();
      void this.#end((error as Error).message);
    }
  }

  /** Whatever is left of it is ended, once; whoever waits for an answer is told. */
  #end(why: string): Promise<void> {
    this.#ended ??= why;
    this.#closing ??= this.#killAll().then(() => this.onclose?.());
    return this.#closing;
  }

  async #killAll(): Promise<void> {
    const group = this.#child?.pid;
    if (group === undefined) return;
    killQuietly(-group, 'SIGTERM');
    await Promise.race([this.#exited, sleep(GRACE_MS)]);
    killQuietly(-group, 'SIGKILL');
    await killStrays({ mark: this.#mark, leader: group, durationMs: performance.now() - this.#started });
    watchdog.release(group, this.#mark);
  }
}
