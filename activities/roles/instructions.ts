import type { AgentContext } from '../../protocol/index.ts';
import { baseInstructions } from './base-instructions.ts';
import { findRole } from './find-role.ts';

/**
 * The whole instructions of an agent: what every agent is told, then the text of its role (or what stands in for it),
 * then its persona. Only tools that are offered are spoken of. The same for every call of one agent, so that the provider's prefix cache works.
 */
export async function instructionsFor(agent: AgentContext, offered: ReadonlySet<string>): Promise<string> {
  const { settings } = agent;
  const role = findRole(settings.role);
  const persona = role?.agent_names?.find(({ name }) => name === settings.persona);
  const parts = [baseInstructions(agent, offered), settings.instructions ?? role?.body, persona?.prompt];
  return parts.filter((part) => part !== undefined && part.trim() !== '').join('\n\n');
}
