import type { AgentContext, AgentSettings } from '../../protocol/index.ts';
import { baseInstructions } from './base-instructions.ts';
import { builtinRoles } from './builtin-roles.ts';
import { memoryText } from './memory.ts';

/**
 * The whole instructions of an agent: what every agent is told, the notes of the memory, then the text of its role (or
 * what stands in for it), then its persona. Only tools that are offered are spoken of. The same for every call of one agent, so that the provider's prefix cache works.
 */
export async function instructionsFor(agent: AgentContext, offered: ReadonlySet<string>): Promise<string> {
  const { settings } = agent;
  const { body, persona } = settings.role_text ?? textOfBuiltin(settings);
  const notes = settings.memory === undefined ? undefined : memoryText(settings.memory);
  const parts = [baseInstructions(agent, offered), notes, settings.instructions ?? body, persona];
  return parts.filter((part) => part !== undefined && part.trim() !== '').join('\n\n');
}

function textOfBuiltin({ role, persona }: AgentSettings): { body?: string; persona?: string } {
  const found = builtinRoles().get(role);
  const prompt = found?.agent_names?.find(({ name }) => name === persona)?.prompt;
  return {
    ...(found === undefined ? {} : { body: found.body }),
    ...(prompt === undefined ? {} : { persona: prompt }),
  };
}
