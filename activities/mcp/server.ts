import { setTimeout as sleep } from 'node:timers/promises';
import { CadreError, type McpServerSettings } from '../../protocol/index.ts';
import { messageOf } from '../tools/failure.ts';
import { Connection } from './connection.ts';
import { ConnectionLost, isSessionGone } from './connection-lost.ts';
import { isTimeout } from './failure-reason.ts';
import type { CallResult } from './result-text.ts';
import type { Surroundings } from './server-surroundings.ts';
import { type ServerTool, serverTools } from './server-tools.ts';

export interface CallOptions {
  signal: AbortSignal;
  /** In ms. */
  timeout: number;
  onlyReads: boolean;
}

/** A life that was shorter counts as a failure. */
const GOOD_MS = 30_000;
const FIRST_WAIT_MS = 1_000;
/** Servers may say as often as they like that their tools have changed. */
const REFRESH_PAUSE_MS = 1_000;
const MOST_WAIT_MS = 60_000;
const STOPPING = 'its worker is stopping';

/**
 * A server as this worker knows it: started when it is first needed, and again when it is needed after it was lost; the
 * more often it fails, the longer it is left alone.
 */
export class McpServer {
  readonly name: string;
  readonly settings: McpServerSettings;
  readonly #around: Surroundings;
  #connection: Connection | undefined;
  #opening: Promise<Connection> | undefined;
  #tools: readonly ServerTool[] = [];
  #leftOut: string | undefined;
  /** Why its list of tools is an old one. */
  #stale: string | undefined;
  #refreshing = false;
  #problem: string | undefined;
  #end: string | undefined;
  #users = 0;
  #usedAt = performance.now();
  #failures = 0;
  #notBefore = 0;
  /** Aborts when the worker has no more use for it. */
  readonly #closed = new AbortController();

  constructor(name: string, settings: McpServerSettings, around: Surroundings) {
    this.name = name;
    this.settings = settings;
    this.#around = around;
  }

  /** When it was last used, by the clock of `performance`; undefined while somebody uses it. */
  get idleSince(): number | undefined {
    return this.#users > 0 ? undefined : this.#usedAt;
  }

  /** What it calls itself, while it is there. */
  get title(): string {
    return this.#connection?.title ?? '';
  }

  /** What people should know: why it offers nothing, or less than it has. */
  get problems(): string[] {
    return [this.#end, this.#problem, this.#leftOut, this.#stale].flatMap((problem) =>
      problem === undefined ? [] : [`MCP server ${this.name}: ${problem}`],
    );
  }

  /**
   * Its tools. The first time this waits for the server; from then on a model call never does: what was lost comes back
   * beside it, and what fails offers nothing meanwhile.
   */
  offered(): Promise<readonly ServerTool[]> {
    return this.#using(() => this.#offered());
  }

  async #offered(): Promise<readonly ServerTool[]> {
    const known = this.#connection;
    if (known?.isOpen) return this.#tools;
    const isFirst = this.#failures === 0 && this.#tools.length === 0;
    const opening = this.#open();
    opening.catch(() => {});
    if (isFirst) await opening.catch(() => {});
    return this.#problem === undefined ? this.#tools : [];
  }

  /**
   * The same for whoever is about to call one of them: waits for the server, whatever it takes.
   *
   * @throws CadreError `tool_failed` when it cannot be started
   */
  tools(): Promise<readonly ServerTool[]> {
    return this.#using(async () => {
      await this.#ready();
      return this.#tools;
    });
  }

  /**
   * @param options.onlyReads then a call that got lost on the way is made once more
   * @throws CadreError `tool_failed` when nothing was called, `outcome_unknown` when nobody knows, `timeout`; the error of
   * the SDK for what the server refuses
   */
  call(tool: string, args: Record<string, unknown>, options: CallOptions): Promise<CallResult> {
    return this.#using(() => this.#call(tool, args, options));
  }

  async #call(tool: string, args: Record<string, unknown>, options: CallOptions): Promise<CallResult> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.#ready();
      try {
        const result = await connection.call(tool, args, options);
        this.#failures = 0;
        // A loss within this call is still to be told; one that is over is no news to later sessions.
        if (attempt === 1) this.#end = undefined;
        return result;
      } catch (error) {
        if (isTimeout(error) && !options.signal.aborted)
          throw await this.#timedOut(tool, connection, options);
        if (isSessionGone(error)) {
          // As after a restart of the server: it has not looked at the call.
          await this.#lose(connection);
          if (attempt === 1) continue;
        }
        if (!(error instanceof ConnectionLost)) throw error;
        await connection.checked();
        this.#noteEnd(connection);
        if (attempt === 1 && (options.onlyReads || !error.wasSent)) continue;
        if (options.onlyReads || !error.wasSent) throw this.#unavailable(error.message);
        throw this.#lost(tool, error.message);
      }
    }
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error(STOPPING));
    await Promise.all([this.#opening?.catch(() => {}), this.#connection?.close()]);
  }

  async #using<T>(use: () => Promise<T>): Promise<T> {
    this.#users++;
    try {
      return await use();
    } finally {
      this.#users--;
      this.#usedAt = performance.now();
    }
  }

  /** The same for a call: none is made while it is in doubt whether the server answers at all. */
  async #ready(): Promise<Connection> {
    await this.#connection?.checked();
    return this.#open();
  }

  /** The connection that there is, or a new one. */
  #open(): Promise<Connection> {
    const known = this.#connection;
    if (known?.isOpen) return Promise.resolve(known);
    this.#opening ??= this.#start().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #start(): Promise<Connection> {
    const last = this.#connection;
    if (last !== undefined) this.#noteEnd(last);
    const { signal } = this.#closed;
    if (signal.aborted) throw this.#unavailable(STOPPING);
    const waitMs = this.#waitMs;
    if (waitMs > 0) {
      const times = this.#failures === 1 ? 'once' : `${this.#failures} times in a row`;
      throw this.#unavailable(
        `it has failed ${times}, and is tried again in ${seconds(waitMs)}: ${this.#problem ?? this.#end}`,
      );
    }
    let connection: Connection | undefined;
    try {
      // So that no two of a server run side by side.
      await last?.close();
      connection = await Connection.open(this.settings, this.#around, signal);
      await this.#list(connection);
      signal.throwIfAborted();
      this.#connection = connection;
      this.#problem = undefined;
      this.#stale = undefined;
      const opened = connection;
      opened.onToolsChanged = () => void this.#refresh(opened);
      void this.#refresh(opened);
      return connection;
    } catch (error) {
      await connection?.close();
      this.#problem = `it could not be started, and offers no tools: ${messageOf(error)}`;
      this.#backOff();
      throw this.#unavailable(this.#problem);
    }
  }

  async #list(connection: Connection): Promise<void> {
    const listed = await connection.listTools(this.#closed.signal);
    const { tools, leftOut } = serverTools(this.name, this.settings, listed);
    this.#tools = tools;
    this.#leftOut = leftOut;
  }

  /** Reads the list again for as long as it changes: beside all else, one at a time, and the old one holds meanwhile. */
  async #refresh(connection: Connection): Promise<void> {
    if (this.#refreshing) return;
    this.#refreshing = true;
    try {
      while (this.#connection === connection && connection.isOpen && connection.toolsChanged) {
        await this.#list(connection).then(
          () => {
            this.#stale = undefined;
          },
          (error) => {
            this.#stale = `it says that its tools have changed, and does not list them; the old ones are offered: ${messageOf(error)}`;
          },
        );
        await sleep(REFRESH_PAUSE_MS, undefined, { ref: false });
      }
    } finally {
      this.#refreshing = false;
    }
    const now = this.#connection;
    if (now !== undefined && now !== connection) void this.#refresh(now);
  }

  /** A connection that is no longer open counts once; one that has served for a while is forgiven. */
  #noteEnd(connection: Connection): void {
    if (connection.isOpen || this.#connection !== connection) return;
    this.#connection = undefined;
    this.#end = `it was lost: ${connection.end}`;
    if (Date.now() - connection.startedAt > GOOD_MS) this.#failures = 0;
    this.#backOff();
  }

  async #lose(connection: Connection): Promise<void> {
    if (this.#connection === connection) this.#connection = undefined;
    await connection.close();
  }

  /** The first time it is tried again at once. */
  #backOff(): void {
    this.#failures++;
    const waitMs =
      this.#failures === 1 ? 0 : Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.#failures - 2));
    this.#notBefore = Date.now() + waitMs;
  }

  #lost(tool: string, why: string): CadreError {
    const what = this.#connection?.isOpen ? 'the answer of the MCP server' : 'the MCP server';
    return new CadreError(
      'outcome_unknown',
      `It is unknown whether ${tool} had its effect: ${what} ${this.name} was lost: ${why}.`,
      { hint: `Look at what is there before you try again.${this.#again()}` },
    );
  }

  async #timedOut(
    tool: string,
    connection: Connection,
    { timeout, onlyReads }: CallOptions,
  ): Promise<CadreError> {
    await connection.checked();
    this.#noteEnd(connection);
    const since = {
      true: 'the server was told to stop it',
      false: connection.end,
      undefined: 'it may go on',
    };
    const message = `${tool} of the MCP server ${this.name} took longer than ${timeout} ms; ${since[`${connection.answers}`]}.`;
    const look = onlyReads ? '' : 'Look at what it has done before you try again.';
    const hint = `${look}${this.#again()}`.trim();
    return new CadreError('timeout', message, hint === '' ? {} : { hint });
  }

  get #waitMs(): number {
    return this.#notBefore - Date.now();
  }

  /** What becomes of the next call. */
  #again(): string {
    if (this.#connection?.isOpen) return '';
    const waitMs = this.#waitMs;
    const from = waitMs > 0 ? `A call in ${seconds(waitMs)} or later` : 'The next call';
    return ` ${from} ${this.settings.command === undefined ? 'connects to' : 'starts'} the server again.`;
  }

  #unavailable(why: string): CadreError {
    return new CadreError('tool_failed', `Nothing was called: the MCP server ${this.name}: ${why}`, {
      hint: '`cadre doctor` shows whether it starts.',
      retryable: true,
    });
  }
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1_000)} s`;
}
