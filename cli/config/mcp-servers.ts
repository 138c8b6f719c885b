import type { McpServers } from '../../protocol/mcp-servers.ts';

/** Servers of a command run where they are told to, and else in this folder. */
export function withFolder(servers: McpServers, folder: string): McpServers {
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [
      name,
      server.command === undefined ? server : { cwd: folder, ...server },
    ]),
  );
}
