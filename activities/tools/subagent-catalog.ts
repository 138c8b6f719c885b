import { z } from 'zod';
import { CadreError } from '../../protocol/index.ts';
import { builtinRoles, roleNamed } from '../roles/find-role.ts';
import type { Role } from '../roles/role.ts';
import { defineTool } from './define-tool.ts';

/** The catalog of the named dialect: the roles, as sub-agents that subagent_run can run. */
export const subagentList = defineTool({
  name: 'subagent_list',
  description: 'Lists the sub-agents that subagent_run can run, with what each is for.',
  effects: 'none',
  parameters: z.strictObject({}),
  async run() {
    const agents = [...builtinRoles().values()].map(({ name, description }) => ({ name, description }));
    return JSON.stringify({ agents });
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
  async run({ name }) {
    const { name: canonical, description, tools, body } = wanted(name);
    return JSON.stringify({ name: canonical, description, tools: tools ?? null, body });
  },
});

/** @throws CadreError `unknown_role` in the words of this dialect, with the names that there are */
function wanted(name: string): Role {
  try {
    return roleNamed(name);
  } catch (error) {
    if (!(error instanceof CadreError)) throw error;
    const { code, message, hint } = error.body;
    throw new CadreError(code, `Sub-agent execution failed: ${message}`, {
      ...(hint === undefined ? {} : { hint }),
    });
  }
}
