import { join } from 'node:path';
import { McpPool } from '../../../activities/mcp/pool.ts';
import type { Tool } from '../../../activities/tools/define-tool.ts';
import type { McpServerSettings, SessionSettings } from '../../../protocol/index.ts';
import { sessionWith } from '../tools/tool-context.ts';

const SMALL = join(import.meta.dirname, 'small-server.ts');

/** The server of `small-server.ts` in one of its modes. */
export function small(mode: string, settings: McpServerSettings = {}, notes?: string): McpServerSettings {
  const args = ['--no-warnings', SMALL, mode, ...(notes === undefined ? [] : [notes])];
  return { command: process.execPath, args, tools_approved: ['*'], ...settings };
}

export interface Served {
  pool: McpPool;
  session: SessionSettings;
  /** What a model would be offered now. */
  offered(): Promise<Tool[]>;
  tool(name: string): Promise<Tool>;
  problems(): string[];
}

/** A worker's servers, for one session. */
export function serve(
  servers: Record<string, McpServerSettings>,
  environment: Record<string, string> = {},
): Served {
  const pool = new McpPool({ environment: { PATH: process.env.PATH, ...environment } });
  const session = sessionWith({ mcp_servers: servers });
  const offered = () => pool.offered(session);
  return {
    pool,
    session,
    offered,
    async tool(name) {
      const found = (await offered()).find((tool) => tool.name === name);
      if (found === undefined)
        throw new Error(`${name} is not offered: ${pool.untold('a' as never, session, [])}`);
      return found;
    },
    problems: () => pool.untold('a0k3v9x2m4qd7' as never, session, []),
  };
}
