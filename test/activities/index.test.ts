import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { type ActivityDeps, createActivities } from '../../activities/index.ts';
import type { AgentReference, PlanRequest, Wire } from '../../protocol/index.ts';
import { Rollouts } from '../../rollout/rollouts.ts';
import { agentIn, sessionWith } from './tools/tool-context.ts';

const agent = agentIn({ working_directory: '/', tool_policy: { allow: [], deny: ['shell'] } });

function activities(deps: Partial<ActivityDeps> = {}) {
  return createActivities({
    client: {} as Client,
    readSession: async () => sessionWith(),
    readAgentSettings: async () => agent.settings,
    environment: {},
    stateDir: '/nowhere',
    rollouts: new Rollouts({ stateDir: '/nowhere' }),
    writesRollouts: false,
    tools: [],
    ...deps,
  });
}

async function plan(name: string, args: string, reference: AgentReference, deps?: Partial<ActivityDeps>) {
  const request: Wire<PlanRequest> = {
    agent: reference,
    call: { type: 'tool_call', call_id: 'c1', name, arguments: args },
  };
  return new MockActivityEnvironment().run(activities(deps).plan_call, request);
}

test('a call that a person made up is planned as one of the model would be', async () => {
  expect(await plan('read_file', '{"path":"a"}', agent)).toMatchObject({ kind: 'activity', summary: 'a' });
  expect(await plan('wait', '{"ids":["worker-1"]}', agent)).toMatchObject({
    kind: 'operation',
    arguments: { ids: ['worker-1'], mode: 'any' },
  });
  expect(await plan('wait', '{"ids":[]}', agent)).toMatchObject({ error: { code: 'invalid_arguments' } });
  expect(await plan('wand', '{}', agent)).toMatchObject({ error: { code: 'unknown_tool' } });
});

test('it is held to the settings of the agent, which are asked of it when they do not come along', async () => {
  const { settings: _, ...reference } = agent;
  expect(await plan('shell', '{"command":"ls"}', reference)).toMatchObject({
    kind: 'refused',
    error: { code: 'tool_not_allowed' },
  });
  const off = { readSession: async () => sessionWith({ tools: { subagent_tools: false } }) };
  expect(await plan('wait', '{"ids":["worker-1"]}', reference, off)).toMatchObject({
    error: { code: 'tool_not_allowed' },
  });
});
