import { expect, test } from 'vitest';
import { instructionsFor as forOffered } from '../../../activities/roles/instructions.ts';
import { builtinTools } from '../../../activities/tools/builtin-tools.ts';
import { offeredTools } from '../../../activities/tools/offered.ts';
import { type AgentContext, agentSettingsSchema } from '../../../protocol/index.ts';
import { agentIn, sessionWith } from '../tools/tool-context.ts';

const session = (tools: Record<string, boolean> = {}) => sessionWith({ tools });
/** What an agent is told that has what it is offered. */
const instructionsFor = (agent: AgentContext, shared = session()) =>
  forOffered(agent, new Set(offeredTools(agent, shared, builtinTools).map((tool) => tool.name)));

test('the instructions name place, sandbox and role, and are the same for every call', async () => {
  const agent = agentIn({ working_directory: '/work/project', role: 'explorer', sandbox_mode: 'read-only' });
  const text = await instructionsFor(agent);
  expect(text).toContain('Working directory: /work/project');
  expect(text).toContain('Sandbox: read-only.');
  expect(text).toContain('You find things out. You change nothing');
  expect(await instructionsFor({ ...agent, turn: 7, step: 9 })).toBe(text);
});

test('own instructions stand in for the text of the role', async () => {
  const text = await instructionsFor(
    agentIn({ working_directory: '/', role: 'worker', instructions: 'Speak French.' }),
  );
  expect(text.endsWith('\n\nSpeak French.')).toBe(true);
  expect(text).not.toContain('You carry out one piece');
});

test('where nothing can be handed out, nothing is said about it', async () => {
  const limits = agentSettingsSchema.shape.limits.parse({ max_depth: 1 });
  expect(await instructionsFor(agentIn({ working_directory: '/', limits }, 0))).toContain('spawn_agent');
  expect(await instructionsFor(agentIn({ working_directory: '/', limits }, 1))).not.toContain('spawn_agent');
});

test('only tools that the agent has are spoken of', async () => {
  const agent = agentIn({ working_directory: '/' });
  // Those that belong to a dialect are told of where its operations are.
  const catalogs = ['list_agents', 'subagent_list', 'subagent_describe'];
  const names = builtinTools.map((tool) => tool.name).filter((name) => !catalogs.includes(name));
  const whole = await instructionsFor(agent);
  for (const name of [...names, 'spawn_agent', 'close agents']) expect(whole).toContain(name);

  expect(await instructionsFor(agent, session({ plan: false }))).not.toContain('update_plan');
  expect(await instructionsFor(agent, session({ subagent_tools: false }))).not.toContain('spawn_agent');
  for (const name of [...names, 'spawn_agent']) {
    const tool_policy = { allow: [], deny: [name] };
    const denied = await instructionsFor(agentIn({ working_directory: '/', tool_policy }));
    expect(denied).not.toMatch(new RegExp(`\\b${name}\\b`));
    expect(denied).toContain('Use tools instead of guessing');
  }
});

test('an agent of the named dialect is told how sub-agents are run, where it may', async () => {
  const named = { working_directory: '/', dialect: 'named' } as const;
  const text = await instructionsFor(agentIn(named));
  for (const name of ['subagent_run', 'subagent_list', 'subagent_describe']) expect(text).toContain(name);
  expect(text).not.toContain('spawn_agent');
  const tool_policy = { allow: [], deny: ['subagent_run'] };
  expect(await instructionsFor(agentIn({ ...named, tool_policy }))).not.toContain('subagent_');
});

test('an agent of the sessions dialect is told how sessions are used, where it may', async () => {
  const sessions = { working_directory: '/', dialect: 'sessions' } as const;
  const text = await instructionsFor(agentIn(sessions));
  for (const name of ['agent_open', 'agent_eval', 'agent_close']) expect(text).toContain(name);
  expect(text).not.toContain('spawn_agent');
  const tool_policy = { allow: [], deny: ['agent_eval'] };
  expect(await instructionsFor(agentIn({ ...sessions, tool_policy }))).not.toContain('agent_');
});

test('whoever is to hand back sections is told so at the end, whatever its dialect', async () => {
  const asked = 'SUMMARY: one paragraph';
  for (const dialect of ['sessions', 'collab'] as const) {
    const agent = { working_directory: '/', role: 'verifier', dialect };
    expect(await instructionsFor(agentIn(agent))).not.toContain(asked);
    const text = await instructionsFor(agentIn({ ...agent, result_sections: true }));
    expect(text.indexOf(asked)).toBeGreaterThan(text.indexOf('You find out whether it works'));
  }
});

test('an agent without tools is told nothing of them', async () => {
  const none = agentIn({ working_directory: '/', tool_policy: { allow: [[]], deny: [] } });
  const text = await instructionsFor(none);
  expect(text).not.toContain('Use tools');
  expect(text).toContain('Your last message is the answer.');
});

test('a role that is gone leaves what every agent is told', async () => {
  expect(await instructionsFor(agentIn({ working_directory: '/', role: 'gone' }))).toContain(
    'You are an agent of Cadre',
  );
});

test('an agent of the mailbox dialect is told how sub-agents are opened and asked, where it may', async () => {
  const mailbox = { working_directory: '/', dialect: 'mailbox' } as const;
  const text = await instructionsFor(agentIn(mailbox));
  for (const name of ['open', 'reply', 'mailbox', 'read', 'end']) expect(text).toContain(`subagent_${name}`);
  expect(text).not.toContain('spawn_agent');
  const tool_policy = { allow: [], deny: ['subagent_read'] };
  expect(await instructionsFor(agentIn({ ...mailbox, tool_policy }))).not.toContain('subagent_');
});

test('a helper that was opened is told to keep to its goal, behind its role; all else stays as it is', async () => {
  const plain = await instructionsFor(agentIn({ working_directory: '/' }));
  const scoped = await instructionsFor(agentIn({ working_directory: '/', scoped: true }));
  expect(scoped.startsWith(`${plain}\n\n`)).toBe(true);
  const guidance = scoped.slice(plain.length);
  for (const part of ['one goal', 'Scope.', 'Talk.', 'Safety.']) expect(guidance).toContain(part);
  const own = await instructionsFor(
    agentIn({ working_directory: '/', scoped: true, instructions: 'You mind.' }),
  );
  expect(own.endsWith(`\n\nYou mind.${guidance}`)).toBe(true);
});

test('a plan is asked for before work is handed out, of whoever can do both', async () => {
  const limits = agentSettingsSchema.shape.limits.parse({ plan_first: true });
  const text = await instructionsFor(agentIn({ working_directory: '/', limits }));
  expect(text).toContain('in a step of its own');
  for (const denied of ['update_plan', 'spawn_agent']) {
    const tool_policy = { allow: [], deny: [denied] };
    const without = await instructionsFor(agentIn({ working_directory: '/', limits, tool_policy }));
    expect(without).not.toContain('in a step of its own');
  }
  expect(await instructionsFor(agentIn({ working_directory: '/' }))).not.toContain('in a step of its own');
});
