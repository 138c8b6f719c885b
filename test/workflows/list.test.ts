import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type AgentView, agentSettingsSchema } from '../../protocol/index.ts';
import { AgentState } from '../../workflows/agent-state.ts';
import { list } from '../../workflows/operations/list.ts';
import { agentId, reportOf, SESSION, viewOf } from './agent-views.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => vi.useRealTimers());

const CHILD = agentId('worker-1');
const at = (time: string) => `2026-01-01T${time}Z`;

function root(): AgentState {
  const settings = agentSettingsSchema.parse({ model: 'm', provider: 'script', working_directory: '/tmp' });
  const source = { kind: 'api' as const };
  const identity = { agent_id: SESSION, session_id: SESSION, depth: 0, source, task: 'x' };
  const agent = new AgentState({ identity: { ...identity, search_attributes: [] }, settings }, undefined);
  agent.tree?.expect(viewOf(CHILD, { status: 'pending_init', status_since: at('12:00:00.000') }));
  return agent;
}

/** How long the child is shown to have had its status, in seconds. */
async function durationAt(agent: AgentState, now: string): Promise<number | undefined> {
  vi.setSystemTime(at(now));
  const { agents } = await list(agent, { scope: 'all', includeTree: false, includeClosed: false });
  return agents[0]?.status_duration_sec;
}

test('the time in a status counts in seconds from its beginning, whatever the agent does in it', async () => {
  const agent = root();
  expect(await durationAt(agent, '12:00:00.000')).toBe(0);
  expect(await durationAt(agent, '12:01:12.400')).toBe(72);
  const report = (seq: number, change: Partial<AgentView>) => agent.tree?.apply(reportOf(CHILD, seq, change));
  report(1, { status: 'running', status_since: at('12:02:00.000'), updated_at: at('12:02:00.000') });
  expect(await durationAt(agent, '12:02:03.000')).toBe(3);
  report(2, { status: 'running', status_since: at('12:02:00.000'), updated_at: at('12:59:59.000') });
  expect(await durationAt(agent, '13:00:00.000')).toBe(58 * 60);
  report(3, { status: 'completed', status_since: at('13:00:10.000'), updated_at: at('13:00:10.000') });
  expect(await durationAt(agent, '13:00:10.600')).toBe(1);
});

test('the time in a status is never below zero, though the clocks of two workers differ', async () => {
  expect(await durationAt(root(), '11:59:30.000')).toBe(0);
});
