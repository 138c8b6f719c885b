import { expect, test } from 'vitest';
import { createResolveRole } from '../../../activities/roles/resolve-role.ts';
import type { Role } from '../../../activities/roles/role.ts';
import { builtinTools } from '../../../activities/tools/builtin-tools.ts';
import { offeredTools, planCall } from '../../../activities/tools/offered.ts';
import type { AgentContext } from '../../../protocol/index.ts';
import { agentIn, sessionWith } from '../tools/tool-context.ts';

const session = sessionWith();
const text = { description: 'For this test.', body: 'You test.' };
const ROLES: Record<string, Role> = {
  narrow: {
    ...text,
    name: 'narrow',
    tools: ['shell', 'read_file', 'grep_files', 'spawn_agent'],
    allow_list: ['read_*', 'grep_files', 'spawn_agent'],
    deny_list: ['grep_*'],
  },
  open: { ...text, name: 'open' },
};

/** An agent in that role, as one that is in the other role would start it. */
async function started(role: string, by: AgentContext): Promise<AgentContext> {
  const resolve = createResolveRole({
    sessions: { get: async () => session },
    roleNamed: (name) => ROLES[name] as Role,
    listModels: async () => undefined,
  });
  const answer = await resolve({ session_id: by.session_id, inherited: by.settings, role });
  if (!answer.ok) throw new Error(answer.error.message);
  return { ...by, depth: by.depth + 1, settings: answer.settings };
}

test('what the lists of a role leave is offered, and all else refused when called, to its agents and to theirs', async () => {
  const root = agentIn({ working_directory: '/' });
  const narrow = await started('narrow', root);
  for (const agent of [narrow, await started('open', narrow)]) {
    expect(offeredTools(agent, session, builtinTools).map(({ name }) => name)).toEqual([
      'read_file',
      'spawn_agent',
    ]);
    for (const name of ['shell', 'local_shell', 'grep_files', 'list_dir', 'wait', 'list_agents']) {
      const call = { call_id: 'c1', name, arguments: '{}' };
      expect(await planCall(agent, session, builtinTools, call), name).toMatchObject({
        kind: 'refused',
        error: { code: 'tool_not_allowed' },
      });
    }
  }
  expect(offeredTools(await started('open', root), session, builtinTools)).toHaveLength(
    offeredTools(root, session, builtinTools).length,
  );
});
