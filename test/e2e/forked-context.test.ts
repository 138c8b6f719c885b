import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import type { AgentEvent, AgentView } from '../../protocol/index.ts';
import { type Answer, startModelServer } from '../support/model-server.ts';
import type { SeenRequest } from '../support/wire-requests.ts';
import { CadreHome } from './cadre-home.ts';

vi.setConfig({ testTimeout: 120_000 });

const home = new CadreHome();
afterAll(() => home.remove());

/** The root looks at a file, then hands its context to an explorer, which tries what its role and depth forbid. */
const ROOT: Answer[] = [
  {
    reasoning: 'first look',
    text: 'I look',
    calls: [{ name: 'read_file', arguments: { path: 'notes.md' } }],
  },
  {
    text: 'I hand over',
    calls: [
      {
        name: 'spawn_agent',
        id: 'hand-over',
        arguments: { message: 'the forked task', agent_type: 'explorer', fork_context: true },
      },
    ],
  },
  { calls: [{ name: 'wait', arguments: { ids: ['explorer-1'], timeout_ms: 600_000 } }] },
  { text: 'the root is done' },
];
const CHILD: Answer[] = [
  {
    calls: [
      { name: 'shell', id: 'write', arguments: { command: 'touch written-by-child' } },
      { name: 'spawn_agent', id: 'deeper', arguments: { message: 'deeper' } },
    ],
  },
  { text: 'the child is done' },
];

const isChild = ({ agent }: SeenRequest) => agent.id.includes('/');
/** What a request says, in the order in which a provider reads it, as it came over the wire. */
const conversationOf = ({ wire, body }: SeenRequest) =>
  (wire === 'responses' ? body.input : body.messages) as Record<string, unknown>[];
/** All of a request but the conversation. */
const frameOf = ({ body }: SeenRequest) => {
  const { input: _, messages: __, ...frame } = body;
  return JSON.stringify(frame);
};

test.concurrent.each(['responses', 'chat'] as const)(
  'what a forked agent sends begins as what its parent has sent, byte for byte, up to the notice (%s)',
  async (wire) => {
    const told: string[] = [];
    const model = await startModelServer(
      (request) => {
        if (!isChild(request)) {
          const { reasoning, ...answer } = ROOT[request.answers] ?? {};
          // In Chat Completions what was thought in one turn is not sent in another one, which the child’s is.
          return reasoning === undefined || wire === 'chat' ? answer : { ...answer, reasoning };
        }
        told.push(...request.outputs);
        return CHILD[request.answers - 1] ?? {};
      },
      { wires: [wire] },
    );
    try {
      const cwd = home.newFolder(wire);
      writeFileSync(join(cwd, 'notes.md'), `# Notes “quoted” \\ and tabs\t${'long '.repeat(2_000)}\n`);
      const run = await home.json<{ session_id: string; output: string; agents: AgentView[] }>(
        ['run', 'the task', '-c', 'agents.max_depth=1'],
        { cwd, env: { OPENAI_BASE_URL: model.url } },
      );
      expect(run.output).toBe('the root is done');
      const [, , afterwards] = model.requests.filter((request) => !isChild(request));
      const parent = model.requests.filter((request) => !isChild(request))[1] as SeenRequest;
      const child = model.requests.find(isChild) as SeenRequest;
      // Instructions, tools and all settings, also the key of the cache.
      expect(frameOf(child)).toBe(frameOf(parent));
      const before = conversationOf(parent);
      const after = conversationOf(child);
      expect(before.length).toBeGreaterThanOrEqual(wire === 'responses' ? 5 : 4);
      expect(JSON.stringify(after.slice(0, before.length))).toBe(JSON.stringify(before));
      const rest = JSON.stringify(after.slice(before.length));
      expect(rest).toMatch(/<notice>.*From here on you are .*explorer-1.*<\/notice>.*the forked task/s);

      // What was really carried stands in the answer, and is what was sent.
      const answer = afterwards?.outputs.map((output) => JSON.parse(output))[0];
      expect(answer).toEqual({
        agent_id: `${run.session_id}/explorer-1`,
        context_mode: 'forked',
        items_carried: parent.items.length,
      });
      const { events } = await home.json<{ events: AgentEvent[] }>(['events', run.session_id]);
      const spawned = events.find((event) => event.type === 'agent.spawn.end');
      expect(spawned).toMatchObject({ call_id: 'hand-over', effective: { role: 'explorer' } });

      // It is shown the tools of its parent, and may not use those that its role and its depth do not have.
      expect(child.tools).toContain('spawn_agent');
      expect(told.at(-1)).toContain('limit_depth');
      expect(told.join()).toContain('Read-only file system');
      expect(existsSync(join(cwd, 'written-by-child'))).toBe(false);
      expect(run.agents).toHaveLength(2);
    } finally {
      await model.close();
    }
  },
);

/** The same by agent_open: what it is told at the end holds its role and how it hands back. */
const SESSIONS_ROOT: Answer[] = [
  { calls: [{ name: 'read_file', arguments: { path: 'notes.md' } }] },
  {
    text: 'I hand over',
    calls: [
      {
        name: 'agent_open',
        arguments: { prompt: 'the forked task', name: 'judge', type: 'code-review', fork_context: true },
      },
    ],
  },
  { calls: [{ name: 'agent_eval', arguments: { name: 'judge', timeout_ms: 600_000 } }] },
  { text: 'the root is done' },
];

test.concurrent.each(['responses', 'chat'] as const)(
  'a session that is opened with the context of its parent begins as that, byte for byte, up to the notice (%s)',
  async (wire) => {
    const model = await startModelServer(
      (request) => (isChild(request) ? { text: 'SUMMARY: judged' } : (SESSIONS_ROOT[request.answers] ?? {})),
      { wires: [wire] },
    );
    try {
      const cwd = home.newFolder(`sessions-${wire}`);
      writeFileSync(join(cwd, 'notes.md'), `# Notes “quoted”\t${'long '.repeat(2_000)}\n`);
      const run = await home.json<{ session_id: string; output: string }>(
        ['run', 'the task', '-c', 'agents.dialect=sessions'],
        { cwd, env: { OPENAI_BASE_URL: model.url } },
      );
      expect(run.output).toBe('the root is done');
      const ofRoot = model.requests.filter((request) => !isChild(request));
      const [, parent, opened, asked] = ofRoot as [SeenRequest, SeenRequest, SeenRequest, SeenRequest];
      const child = model.requests.find(isChild) as SeenRequest;
      expect(frameOf(child)).toBe(frameOf(parent));
      const before = conversationOf(parent);
      const after = conversationOf(child);
      expect(JSON.stringify(after.slice(0, before.length))).toBe(JSON.stringify(before));
      const rest = JSON.stringify(after.slice(before.length));
      // How things stand, the role, how to hand back, and the task.
      expect(rest).toMatch(
        /<notice>.*From here on you are .*judge.*Working directory.*Open agents.*You judge what others have made.*SUMMARY:.*BLOCKERS:.*<\/notice>.*the forked task/s,
      );
      expect(JSON.stringify(before)).not.toContain('You judge what others have made');
      const mode = { name: 'judge', type: 'review', context_mode: 'forked' };
      expect(JSON.parse(opened.outputs.at(-1) ?? '')).toMatchObject({
        ...mode,
        items_carried: parent.items.length,
      });
      expect(JSON.parse(asked.outputs.at(-1) ?? '')).toMatchObject({
        ...mode,
        contract: 'partial',
        sections: { summary: 'judged' },
      });
    } finally {
      await model.close();
    }
  },
);
