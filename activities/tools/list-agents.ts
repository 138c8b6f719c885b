import { z } from 'zod';
import type { Persona, Role } from '../roles/role.ts';
import { readRoleCatalog } from '../roles/role-catalog.ts';
import { allowedTools } from './allowed-tools.ts';
import { defineTool } from './define-tool.ts';

/** What may be started; beside the operations on agents an ordinary tool, since it reads files only. */
export const listAgents = defineTool({
  name: 'list_agents',
  description:
    'Lists the roles that spawn_agent can start, with what each is for. A list that is null bounds nothing.',
  effects: 'none',
  parameters: z.strictObject({
    agent_type: z.string().min(1).optional().describe('Only this role'),
    expanded: z
      .boolean()
      .default(false)
      .describe('Adds model, effort and prompt of roles and of their personas'),
  }),
  summary: ({ agent_type }) => agent_type ?? '',
  async run({ agent_type: type, expanded }, { agent, environment }) {
    const { working_directory: folder, dialect } = agent.settings;
    const catalog = await readRoleCatalog({ folder, home: environment.HOME, dialect });
    const known = type === undefined ? catalog.all() : [catalog.named(type)];
    return catalogOf(
      known.map(({ role }) => role),
      expanded,
    );
  },
});

/** The roles as the model reads them. */
export function catalogOf(roles: readonly Role[], expanded: boolean): string {
  return JSON.stringify({ agents: roles.map((role) => shownRole(role, expanded)) });
}

function shownRole(role: Role, expanded: boolean) {
  const personas = role.agent_names?.map((persona) => shownPersona(persona, expanded));
  return {
    agent_type: role.name,
    description: role.description,
    allow_list: allowedTools(role),
    deny_list: role.deny_list ?? null,
    ...(expanded
      ? {
          model: role.model ?? null,
          reasoning_effort: role.reasoning_effort ?? null,
          default_prompt: role.body,
        }
      : {}),
    ...(personas === undefined || personas.length === 0 ? {} : { agent_names: personas }),
  };
}

function shownPersona({ name, description, model, reasoning_effort, prompt }: Persona, expanded: boolean) {
  return {
    name,
    description: description ?? null,
    ...(expanded
      ? { model: model ?? null, reasoning_effort: reasoning_effort ?? null, prompt: prompt ?? null }
      : {}),
  };
}
