import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type CadreHome, MAIN } from '../e2e/cadre-home.ts';

export interface ServerOptions {
  cwd: string;
  /** Options of `cadre mcp-server`. */
  args?: string[];
  client?: ClientOptions;
}

/** The result of a tool, as clients get it. */
export interface ToolResult {
  isError: boolean;
  fields: Record<string, unknown>;
  /** Of the session that was run. */
  id: string;
  texts: string[];
}

/** `cadre mcp-server` in a process of its own, and a client that is connected with it. */
export class McpConnection {
  readonly client: Client;
  readonly pid: number;
  #stderr = '';

  private constructor(client: Client, transport: StdioClientTransport) {
    this.client = client;
    this.pid = transport.pid ?? Number.NaN;
    transport.stderr?.on('data', (chunk) => {
      this.#stderr += chunk;
    });
  }

  static async open(
    home: CadreHome,
    { cwd, args = [], client: options }: ServerOptions,
  ): Promise<McpConnection> {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [MAIN, 'mcp-server', ...args],
      env: home.env(),
      cwd,
      stderr: 'pipe',
    });
    const client = new Client({ name: 'cadre-test', version: '1.0.0' }, options);
    await client.connect(transport);
    return new McpConnection(client, transport);
  }

  get stderr(): string {
    return this.#stderr;
  }

  async call(
    name: string,
    args: Record<string, unknown> = {},
    options: { onprogress?: (message: string) => void; signal?: AbortSignal } = {},
  ): Promise<ToolResult> {
    const { onprogress, signal } = options;
    const result = await this.client.callTool(
      { name, arguments: args },
      {
        timeout: 200_000,
        ...(onprogress === undefined ? {} : { onprogress: ({ message = '' }) => onprogress(message) }),
        ...(signal === undefined ? {} : { signal }),
      },
    );
    const { content, structuredContent, isError = false } = result;
    const fields = { ...(structuredContent as Record<string, unknown> | undefined) };
    return {
      isError,
      id: String(fields.session_id ?? ''),
      fields,
      texts: content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
    };
  }

  /** The error that a tool has answered with. */
  async error(name: string, args: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const { isError, texts } = await this.call(name, args);
    if (!isError) throw new Error(`${name} has not failed: ${texts.join('\n')}`);
    return JSON.parse(texts.at(-1) ?? '').error;
  }

  close(): Promise<void> {
    return this.client.close();
  }
}
