import type { McpServers } from '../../protocol/index.ts';
import { McpServer } from './server.ts';
import type { Surroundings } from './server-surroundings.ts';

export interface ServerReport {
  name: string;
  works: boolean;
  /** What it offers, or why it does not. */
  detail: string;
}

const NAMED = 10;

/** Starts, or reaches, each server, and ends it again. */
export function tryServers(servers: McpServers, around: Surroundings): Promise<ServerReport[]> {
  return Promise.all(
    Object.entries(servers).map(async ([name, settings]) => {
      const server = new McpServer(name, settings, around);
      try {
        const tools = (await server.tools()).map(({ own }) => own);
        const more = tools.length > NAMED ? `, and ${tools.length - NAMED} more` : '';
        const offers = `${server.title} offers ${tools.length} tools: ${tools.slice(0, NAMED).join(', ')}${more}`;
        const { problems } = server;
        return { name, works: problems.length === 0, detail: [offers, ...problems].join('\n') };
      } catch {
        return { name, works: false, detail: server.problems.join('\n') };
      } finally {
        await server.close();
      }
    }),
  );
}
