import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { MCP_START_MS, type McpServerSettings } from '../../protocol/index.ts';
import { ConnectionLost, isAnswer, isCutOff, wasSent } from './connection-lost.ts';
import { isTimeout, reasonOf, shortened } from './failure-reason.ts';
import { refusesForm } from './later-revision.ts';
import { type CallResult, callResultSchema } from './result-text.ts';
import { neutralFolder, type Surroundings, serverEnvironment } from './server-surroundings.ts';
import { withoutKeys } from './stderr-tail.ts';
import type { StdioTransport } from './stdio-transport.ts';

/** A tool as its server lists it; what is wrong with one is no reason to refuse the others. */
const listedTool = z.looseObject({
  name: z.string().min(1),
  description: z.string().optional().catch(undefined),
  inputSchema: z.unknown().optional(),
});
type ListedTool = z.infer<typeof listedTool>;
export interface ToolList {
  tools: ListedTool[];
  /** How many have no name, or are no objects. */
  unreadable: number;
  /** It lists more than anybody reads. */
  isCut: boolean;
}
const listResult = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() });

/** More pages, or more tools, are no list that a model could choose from. */
const MOST_PAGES = 100;
const MOST_TOOLS = 2_000;
const FAREWELL_MS = 1_000;
/** How soon a server answers a small question that still answers anything. */
const PING_MS = 5_000;
/** Longer than anybody waits for it. */
const FOR_EVER = 2_147_483_647;

/** One connection to a server, from its start on until it is lost or closed; it does not come back. */
export class Connection {
  readonly #client: Client;
  readonly #stdio: StdioTransport | undefined;
  readonly #secrets: readonly string[];
  readonly #startMs: number;
  #isOpen = true;
  readonly #calls = new Set<Promise<unknown>>();
  #checking: Promise<void> | undefined;
  /** Why it was given up, where the server did not end. */
  #givenUp: string | undefined;
  /** The server says that its tools have changed. */
  toolsChanged = false;
  onToolsChanged?: () => void;
  readonly startedAt = Date.now();

  private constructor(
    client: Client,
    stdio: StdioTransport | undefined,
    secrets: readonly string[],
    startMs: number,
  ) {
    this.#client = client;
    this.#stdio = stdio;
    this.#secrets = secrets;
    this.#startMs = startMs;
  }

  /**
   * Starts, or reaches, a server and greets it: in the form of 2025, which all know that have been around, and some of
   * them end at any other greeting. One that refuses that form is greeted anew in the later one.
   *
   * @param signal gives that up
   *
   * @throws Error with the reason, and what the server wrote to its error output
   */
  static async open(
    settings: McpServerSettings,
    around: Surroundings,
    signal: AbortSignal,
  ): Promise<Connection> {
    try {
      return await Connection.#greet(settings, around, signal, 'legacy');
    } catch (error) {
      if (!(error instanceof Error && refusesForm(error))) throw error;
      return await Connection.#greet(settings, around, signal, 'auto');
    }
  }

  static async #greet(
    settings: McpServerSettings,
    around: Surroundings,
    signal: AbortSignal,
    mode: 'legacy' | 'auto',
  ): Promise<Connection> {
    // Loaded where a server is configured only: it would be a part of every start.
    const [{ Client }, stdio, http] = await Promise.all([
      import('@modelcontextprotocol/client'),
      import('./stdio-transport.ts'),
      import('./http-transport.ts'),
    ]);
    const client = new Client(
      { name: 'cadre', version: '1' },
      { capabilities: {}, versionNegotiation: { mode } },
    );
    const secrets = secretsOf(settings, around);
    const { command, args = [], cwd, url, start_timeout_ms: startMs = MCP_START_MS } = settings;
    const local =
      command === undefined
        ? undefined
        : new stdio.StdioTransport({
            command,
            args,
            cwd: cwd ?? neutralFolder(),
            secrets,
            environment: serverEnvironment(settings, around),
          });
    const connection = new Connection(client, local, secrets, startMs);
    client.onclose = () => {
      connection.#isOpen = false;
    };
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      connection.toolsChanged = true;
      connection.onToolsChanged?.();
    });
    try {
      const transport = local ?? http.httpTransport({ ...settings, url: url ?? '' }, around.variables);
      await client.connect(transport, { timeout: startMs, signal });
      return connection;
    } catch (error) {
      await connection.close();
      throw connection.#explained(error);
    }
  }

  get isOpen(): boolean {
    return this.#isOpen && this.#stdio?.isUp !== false;
  }

  /** What it calls itself. */
  get title(): string {
    const { name, version } = this.#client.getServerVersion() ?? {};
    return [name, version].filter(Boolean).join(' ').slice(0, 100);
  }

  /** Its tools, as many as anybody could use. */
  async listTools(signal: AbortSignal): Promise<ToolList> {
    this.toolsChanged = false;
    const until = Date.now() + this.#startMs;
    const found: unknown[] = [];
    let cursor: string | undefined;
    let isCut = true;
    try {
      for (let page = 0; page < MOST_PAGES && found.length < MOST_TOOLS; page++) {
        const params = cursor === undefined ? {} : { cursor };
        const result = await this.#client.request({ method: 'tools/list', params }, listResult, {
          timeout: Math.max(1, until - Date.now()),
          signal,
        });
        found.push(...result.tools);
        if (result.nextCursor == null || result.nextCursor === cursor) {
          isCut = found.length > MOST_TOOLS;
          break;
        }
        cursor = result.nextCursor;
      }
    } catch (error) {
      throw this.#explained(error);
    }
    const tools = new Map<string, ListedTool>();
    let unreadable = 0;
    for (const one of found.slice(0, MOST_TOOLS)) {
      const read = listedTool.safeParse(one);
      if (read.success) tools.set(read.data.name, read.data);
      else unreadable++;
    }
    return { tools: [...tools.values()], unreadable, isCut };
  }

  /**
   * @param timeout in ms; then, and when `signal` aborts, the server is told that nobody waits any longer, and is asked
   * whether it answers at all
   * @throws ConnectionLost when it went away before it answered; the error of the SDK for all else
   */
  async call(
    name: string,
    args: Record<string, unknown>,
    { signal, timeout }: { signal: AbortSignal; timeout: number },
  ): Promise<CallResult> {
    const request = { method: 'tools/call', params: { name, arguments: args } };
    const answer = this.#client.request(request, callResultSchema, { signal, timeout });
    this.#calls.add(answer);
    try {
      return await answer;
    } catch (error) {
      this.#calls.delete(answer);
      if (signal.aborted || isTimeout(error) || isCutOff(error)) void this.#check();
      if (signal.aborted || (this.isOpen && !isCutOff(error))) throw error;
      throw new ConnectionLost(this.#explained(error).message, { wasSent: wasSent(error), cause: error });
    } finally {
      this.#calls.delete(answer);
    }
  }

  /** Waits for a sign of life where a check is under way, but not for as long as a busy server may take. */
  async checked(): Promise<void> {
    if (this.#checking !== undefined)
      await Promise.race([this.#checking, sleep(2 * PING_MS, undefined, { ref: false })]);
  }

  /** Whether it answers now: undefined while nobody knows. */
  get answers(): boolean | undefined {
    if (!this.isOpen) return false;
    return this.#checking === undefined ? true : undefined;
  }

  #check(): Promise<void> {
    // That it could not be asked says nothing of the server; and nobody waits for some of the checks.
    this.#checking ??= this.#pinged()
      .catch(() => {})
      .finally(() => {
        this.#checking = undefined;
      });
    return this.#checking;
  }

  /**
   * A server that hangs is given up, with all that it has started. Many do one thing at a time: while calls are under way
   * that others wait for, it may be at work on them, and has time until they are over.
   */
  async #pinged(): Promise<void> {
    const over = new AbortController();
    // Since 2026-07-28 there is no ping.
    const isModern = this.#client.getProtocolEra() === 'modern';
    const [method, asked] = isModern ? ['tools/list', 'a list of its tools'] : ['ping', 'a ping'];
    const answered = this.#client
      .request({ method }, z.unknown(), { timeout: FOR_EVER, signal: over.signal })
      .then(
        () => undefined,
        (error) => (isAnswer(error) ? undefined : this.#explained(error).message),
      );
    const others = Promise.allSettled([...this.#calls]);
    const silent = `it answered nothing any more, not even ${asked} within ${PING_MS / 1_000} s`;
    const patience = Promise.all([others, sleep(PING_MS, undefined, { ref: false })]).then(() => silent);
    const problem = await Promise.race([answered, patience]);
    over.abort();
    if (problem === undefined || !this.isOpen) return;
    this.#givenUp = problem;
    await this.close();
  }

  /** Why it is no longer there. */
  get end(): string {
    return this.#explained(this.#givenUp ?? 'the connection was closed').message;
  }

  async close(): Promise<void> {
    const http = this.#stdio === undefined && this.#isOpen ? this.#client.transport : undefined;
    this.#isOpen = false;
    // So that the server keeps no session of one that does not come back; it need not answer.
    await Promise.race([
      (http as StreamableHTTPClientTransport | undefined)?.terminateSession(),
      sleep(FAREWELL_MS),
    ]).catch(() => {});
    await this.#client.close().catch(() => {});
    await this.#stdio?.close();
  }

  /** The reason, and what there is to see of the server itself. */
  #explained(error: unknown): Error {
    const said = error instanceof Error ? reasonOf(error, this.#startMs) : String(error);
    const reasons = [this.#stdio?.ended, this.#stdio?.rubbish];
    const reason = reasons.filter((one) => one !== undefined).join('; ') || said;
    const stderr = this.#stdio?.stderr ?? '';
    // An error may come with a page, of whatever length.
    const shown = shortened(withoutKeys(reason, this.#secrets));
    const text = stderr === '' ? shown : `${shown}; its error output ends: ${stderr.slice(-1_000)}`;
    return new Error(text, { cause: error });
  }
}

/** The values that its settings name: none of them is shown, wherever it turns up. */
function secretsOf(settings: McpServerSettings, { variables }: Surroundings): string[] {
  const { env_vars: names = [], bearer_token_env_var: token, env_http_headers: headers = {} } = settings;
  return [...names, ...(token === undefined ? [] : [token]), ...Object.values(headers)].flatMap(
    (name) => variables[name] ?? [],
  );
}
