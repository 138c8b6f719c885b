import { z } from 'zod';
import { CadreError } from '../../protocol/index.ts';
import type { Role } from '../roles/role.ts';
import { type RoleCatalog, readRoleCatalog } from '../roles/role-catalog.ts';
import { allowedTools } from './allowed-tools.ts';
import { defineTool, type ToolContext } from './define-tool.ts';

/** The catalog of the named dialect: the roles, as sub-agents that subagent_run can run. */
export const subagentList = defineTool({
  name: 'subagent_list',
  description: 'Lists the sub-agents that subagent_run can run, with what each is for.',
  effects: 'none',
  parameters: z.strictObject({}),
  async run(_args, context) {
    const roles = (await catalogFor(context)).all().map(({ role }) => role);
    return JSON.stringify({ agents: roles.map(({ name, description }) => ({ name, description })) });
  },
});

export const subagentDescribe = defineTool({
  name: 'subagent_describe',
  description:
    'Shows one sub-agent whole: its description, its tools (null: all that you have) and what it is told.',
  effects: 'none',
  parameters: z.strictObject({
    name: z.string().min(1).describe('As subagent_list gives it'),
  }),
  summary: ({ name }) => name,
  async run({ name }, context) {
    const role = wanted(await catalogFor(context), name);
    const { name: canonical, description, body } = role;
    return JSON.stringify({ name: canonical, description, tools: allowedTools(role), body });
  },
});

function catalogFor({ agent, environment }: ToolContext): Promise<RoleCatalog> {
  const { working_directory: folder, dialect } = agent.settings;
  return readRoleCatalog({ folder, home: environment.HOME, dialect });
}

/** @throws CadreError `unknown_role` in the words of this dialect, with the names that there are */
function wanted(catalog: RoleCatalog, name: string): Role {
  try {
    return catalog.named(name).role;
  } catch (error) {
    if (!(error instanceof CadreError)) throw error;
    const { code, message, hint } = error.body;
    throw new CadreError(code, `Sub-agent execution failed: ${message}`, {
      ...(hint === undefined ? {} : { hint }),
    });
  }
}
