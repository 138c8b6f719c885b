import {
  type AgentContext,
  type AgentSettings,
  projectDocsText,
  SECTIONS_ASKED,
} from '../../protocol/index.ts';
import { baseInstructions } from './base-instructions.ts';
import { builtinRoles } from './builtin-roles.ts';
import { memoryText } from './memory.ts';
import { SCOPE_GUIDANCE } from './scope-guidance.ts';

/**
 * The whole instructions of an agent: what every agent is told, the notes of the memory, what its project says, then the text of its
 * role (or what stands in for it), then its persona, then what a helper is told of its scope, or how it is to hand back. Only
 * tools that are offered are spoken of. The same for every call of one agent, so that the provider's prefix cache works.
 */
export async function instructionsFor(agent: AgentContext, offered: ReadonlySet<string>): Promise<string> {
  const { settings } = agent;
  const { body, persona } = settings.role_text ?? textOfBuiltin(settings);
  const parts = [
    baseInstructions(agent, offered),
    settings.memory === undefined ? undefined : memoryText(settings.memory),
    settings.project_docs === undefined ? undefined : projectDocsText(settings.project_docs),
    settings.instructions ?? body,
    persona,
    settings.scoped === true ? SCOPE_GUIDANCE : undefined,
    settings.result_sections === true ? SECTIONS_ASKED : undefined,
  ];
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
