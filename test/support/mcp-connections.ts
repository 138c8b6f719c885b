import { afterEach } from 'vitest';
import { type CadreHome, playing } from '../e2e/cadre-home.ts';
import { McpConnection, type ServerOptions } from './mcp-client.ts';

/** Connects to servers of its own at a home; what a test has opened is closed after it. */
export function mcpConnections(
  home: CadreHome,
): (options?: Partial<ServerOptions>) => Promise<McpConnection> {
  const open: McpConnection[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((connection) => connection.close()));
  });
  return async (options = {}) => {
    const cwd = home.newFolder('mcp');
    const connection = await McpConnection.open(home, { cwd, args: playing('mcp.yaml'), ...options });
    open.push(connection);
    return connection;
  };
}
