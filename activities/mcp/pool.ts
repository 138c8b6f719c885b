import { LRUCache } from 'lru-cache';
import {
  filterEnvironment,
  keyVariables,
  type McpServerSettings,
  type McpServers,
  mcpKeyVariables,
  type SessionId,
  type SessionSettings,
} from '../../protocol/index.ts';
import type { Tool } from '../tools/define-tool.ts';
import { mcpTool, type ToolServer } from './mcp-tool.ts';
import { McpServer } from './server.ts';
import type { ServerTool } from './server-tools.ts';
import { serverOf } from './tool-names.ts';

export interface McpPoolOptions {
  /** The worker's own: whatever sessions bring is left alone then. */
  servers?: McpServers | undefined;
  /** All that there is; servers get of it what commands get, and the variables that their settings name. */
  environment: Readonly<Record<string, string | undefined>>;
  /** So many it keeps (default 64), and more while they are in use. */
  most?: number;
}

/** So many differ in sessions that a worker serves side by side. */
const MOST_SERVERS = 64;
const MOST_SESSIONS = 500;
/** What a session is told of its servers, in all. */
const MOST_TOLD = 20;

/** The servers of a worker: one connection to each, whichever agents use it. */
export class McpPool {
  readonly #own: McpServers | undefined;
  readonly #environment: McpPoolOptions['environment'];
  readonly #most: number;
  readonly #servers = new Map<string, McpServer>();
  readonly #tools = new WeakMap<ServerTool, Tool>();
  readonly #told = new LRUCache<SessionId, Set<string>>({ max: MOST_SESSIONS });
  #isClosed = false;

  constructor({ servers, environment, most = MOST_SERVERS }: McpPoolOptions) {
    this.#most = most;
    this.#own = servers;
    this.#environment = environment;
  }

  /** What the worker's own servers are reached with: nothing that commands get. */
  get keyVariables(): string[] {
    return mcpKeyVariables(this.#own);
  }

  /** What models of the session may be offered; what a server has not, or cannot have, is no error. */
  async offered(session: SessionSettings): Promise<Tool[]> {
    const servers = this.#serversOf(session);
    const listed = await Promise.all(
      servers.map(async (server) => this.#asTools(server, await server.offered(), session)),
    );
    return listed.flat();
  }

  /**
   * Those of the server that a call is for; none where the session has no such server.
   *
   * @throws CadreError `tool_failed` when the server cannot be started
   */
  async toolsFor(name: string, session: SessionSettings): Promise<Tool[]> {
    const server = this.#serversOf(session).find((one) => one.name === serverOf(name));
    return server === undefined ? [] : this.#asTools(server, await server.tools(), session);
  }

  /** What people of that session are to be told of its servers, and of `more`, each thing once. */
  untold(id: SessionId, session: SessionSettings, more: readonly string[]): string[] {
    const told = this.#told.get(id) ?? new Set();
    this.#told.set(id, told);
    const all = [...this.#serversOf(session).flatMap(({ problems }) => problems), ...more];
    const news = all.filter((problem) => !told.has(problem)).slice(0, Math.max(0, MOST_TOLD - told.size));
    for (const problem of news) told.add(problem);
    return news;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  #serversOf(session: SessionSettings): McpServer[] {
    if (this.#isClosed) return [];
    const all = this.#own ?? session.mcp_servers ?? {};
    const servers = Object.entries(all).map(([name, settings]) => this.#server(name, settings, session));
    this.#makeRoom(servers);
    return servers;
  }

  /** What is idle longest goes; what is in use, or about to be, stays, however many these are. */
  #makeRoom(wanted: readonly McpServer[]): void {
    const surplus = this.#servers.size - this.#most;
    if (surplus <= 0) return;
    const idle = [...this.#servers]
      .flatMap(([key, server]) => {
        const since = wanted.includes(server) ? undefined : server.idleSince;
        return since === undefined ? [] : [{ key, server, since }];
      })
      .sort((a, b) => a.since - b.since);
    for (const { key, server } of idle.slice(0, surplus)) {
      this.#servers.delete(key);
      void server.close();
    }
  }

  #server(name: string, settings: McpServerSettings, session: SessionSettings): McpServer {
    const key = JSON.stringify([name, settings, this.#own === undefined ? session.environment : undefined]);
    const known = this.#servers.get(key);
    if (known !== undefined) return known;
    const server = new McpServer(name, settings, {
      environment: this.#environmentFor(session),
      variables: this.#environment,
    });
    this.#servers.set(key, server);
    return server;
  }

  #inUse(name: string, settings: McpServerSettings, session: SessionSettings): McpServer {
    const server = this.#server(name, settings, session);
    if (this.#isClosed) void server.close();
    this.#makeRoom([server]);
    return server;
  }

  /** One that all sessions share has nothing of any of them. */
  #environmentFor(session: SessionSettings): Record<string, string> {
    if (this.#own === undefined && session.environment !== undefined) return session.environment;
    const servers = this.#own ?? session.mcp_servers;
    return filterEnvironment(this.#environment, {
      exclude: [...keyVariables(session.model_providers), ...mcpKeyVariables(servers)],
    });
  }

  /** The same objects again, so that what is derived from them is, too. */
  #asTools({ name, settings }: McpServer, tools: readonly ServerTool[], session: SessionSettings): Tool[] {
    const server: ToolServer = {
      name,
      settings,
      // It may have made room since its tools were listed.
      call: (...call) => this.#inUse(name, settings, session).call(...call),
    };
    return tools.map((tool) => {
      const made = this.#tools.get(tool) ?? mcpTool(server, tool);
      this.#tools.set(tool, made);
      return made;
    });
  }
}
