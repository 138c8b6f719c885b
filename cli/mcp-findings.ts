import { filterEnvironment, mcpKeyVariables } from '../protocol/index.ts';
import type { Environment } from './config/environment.ts';
import { serversIn, sessionPlace } from './config/mcp-servers.ts';
import type { Config } from './config/schema.ts';
import type { Finding } from './finding.ts';

/** What each of the configured servers offers, or why it does not. */
export async function mcpFindings(config: Config, environment: Environment, cwd: string): Promise<Finding[]> {
  const { mcp_servers: servers, shell_environment: filter } = config;
  if (Object.keys(servers).length === 0) return [];
  const { tryServers } = await import('../worker/preflight.ts');
  const exclude = [...filter.exclude, ...mcpKeyVariables(servers)];
  const place = sessionPlace(cwd, environment, config);
  const reports = await tryServers(serversIn(place, servers), {
    environment: filterEnvironment(environment, { ...filter, exclude }),
    variables: environment,
  });
  return reports.map(({ name, works, detail }): Finding => {
    const what = `mcp ${name}`;
    if (works) return { what, state: 'ok', detail };
    return { what, state: 'warn', detail, hint: `Its settings: [mcp_servers.${name}].` };
  });
}
