import { expect, test } from 'vitest';
import { SessionFeed } from '../../../cli/follow/session-feed.ts';
import type { Agent } from '../../../client/types.ts';
import type { AgentEvent, AgentId, AgentView } from '../../../protocol/index.ts';
import { agentView } from '../agent-view.ts';

const ROOT = 'a0k3v9x2m4qd7' as AgentId;
const CHILD = `${ROOT}/worker-1` as AgentId;

/** A session whose agents say what they are told to. */
class FakeSession {
  views: AgentView[] = [agentView(ROOT)];
  readonly said = new Map<AgentId, AgentEvent[]>();
  readonly asked: string[] = [];

  say(id: AgentId, text: string): void {
    const events = this.said.get(id) ?? [];
    const head = { seq: events.length + 1, at: '2026-01-01T00:00:00Z', agent_id: id, session_id: ROOT };
    this.said.set(id, [...events, { ...head, type: 'warning', text }]);
  }

  reach = async (id: AgentId): Promise<Agent> => {
    const { said, asked } = this;
    const agent: Pick<Agent, 'id' | 'tree' | 'status' | 'events'> = {
      id,
      tree: async () => ({ agents: this.views }),
      status: async () => ({ ...(this.views.find((view) => view.agent_id === id) as AgentView), step: 7 }),
      async *events({ after = 0 } = {}) {
        asked.push(`${id} ${after}`);
        yield* (said.get(id) ?? []).filter((event) => event.seq > after);
      },
    };
    return agent as Agent;
  };
}

test('every event of every agent is told once, in order for each', async () => {
  const session = new FakeSession();
  session.views.push(agentView(CHILD));
  const told: string[] = [];
  const feed = new SessionFeed(ROOT, session.reach, {
    onEvent: (event) => told.push(`${event.agent_id} ${event.seq}`),
  });
  session.say(ROOT, 'a');
  session.say(CHILD, 'b');
  await feed.look();
  session.say(ROOT, 'c');
  await feed.look();
  await feed.look();
  expect(told).toEqual([`${ROOT} 1`, `${CHILD} 1`, `${ROOT} 2`]);
});

test('an agent that has come to a rest is asked again only when it moves', async () => {
  const session = new FakeSession();
  const asked = () => session.asked.filter((asked) => asked.startsWith(CHILD)).length;
  const feed = new SessionFeed(ROOT, session.reach, { onEvent: () => {} });
  const stands = (view: Partial<AgentView>) => {
    session.views[1] = agentView(CHILD, view);
  };
  stands({ status: 'completed', is_final: true, turn: 1 });
  await feed.look();
  await feed.look();
  expect(asked()).toBe(1);
  stands({ status: 'running', is_final: false, turn: 2 });
  await feed.look();
  await feed.look();
  expect(asked()).toBe(3);
  stands({ status: 'completed', is_final: true, turn: 2 });
  await feed.look();
  await feed.look();
  expect(asked()).toBe(4);
});

test('an agent that does not answer hides no other, and the end is looked for again', async () => {
  const session = new FakeSession();
  session.views.push(agentView(CHILD));
  session.say(ROOT, 'a');
  session.say(CHILD, 'b');
  let failures = 1;
  const told: string[] = [];
  const reach = async (id: AgentId) => {
    if (id === CHILD && failures-- > 0) throw new Error('late');
    return session.reach(id);
  };
  const feed = new SessionFeed(ROOT, reach, {
    onEvent: (event) => told.push(`${event.agent_id} ${event.seq}`),
  });
  const troubles: unknown[] = [];
  const agents = await feed.lastLook((error) => troubles.push(error));
  expect(agents.map(({ agent_id }) => agent_id)).toEqual([ROOT, CHILD]);
  expect(told).toEqual([`${ROOT} 1`, `${CHILD} 1`]);
  expect(troubles).toEqual([]);
});

test('at an end that cannot be read, the session is what it was last seen to be, and it is said why', async () => {
  const session = new FakeSession();
  session.views.push(agentView(CHILD));
  let gone = false;
  const reach = async (id: AgentId) => {
    if (gone) throw new Error('no worker');
    return session.reach(id);
  };
  const feed = new SessionFeed(ROOT, reach, { onEvent: () => {} });
  await feed.look();
  gone = true;
  const troubles: unknown[] = [];
  const agents = await feed.lastLook((error) => troubles.push(error));
  expect(agents.map(({ agent_id }) => agent_id)).toEqual([ROOT, CHILD]);
  expect(troubles).toEqual([new Error('no worker')]);
});

test.each([
  [true, 2],
  [false, 1],
])(
  'closed, an agent is asked one last time where its every event counts (complete: %s)',
  async (complete, times) => {
    const session = new FakeSession();
    const feed = new SessionFeed(ROOT, session.reach, { onEvent: () => {}, complete });
    session.views.push(agentView(CHILD, { status: 'completed', is_final: true }));
    await feed.look();
    session.views[1] = agentView(CHILD, { status: 'completed', is_final: true, closed: true });
    await feed.look();
    await feed.look();
    expect(session.asked.filter((asked) => asked.startsWith(CHILD))).toHaveLength(times);
  },
);

test('a tree shows of working agents what they say themselves', async () => {
  const session = new FakeSession();
  session.views.push(agentView(CHILD, { step: 1 }));
  const shown: AgentView[][] = [];
  const feed = new SessionFeed(ROOT, session.reach, { onTree: (agents) => void shown.push(agents) });
  await feed.look();
  expect(shown[0]?.[1]?.step).toBe(7);
  expect(session.asked).toEqual([]);
});

test('a look that fails is made up for by the next', async () => {
  const session = new FakeSession();
  session.say(ROOT, 'a');
  const told: number[] = [];
  let away = true;
  const stop = new AbortController();
  const feed = new SessionFeed(
    ROOT,
    async (id) => {
      if (away) {
        away = false;
        throw new Error('the server is away');
      }
      return session.reach(id);
    },
    {
      onEvent: (event) => {
        told.push(event.seq);
        stop.abort();
      },
    },
  );
  await feed.run(stop.signal);
  expect(told).toEqual([1]);
});

test('a call that is tried again is told once for each attempt', async () => {
  const session = new FakeSession();
  session.views[0] = agentView(ROOT, { status: 'running', is_final: false });
  const told: number[] = [];
  const reach = async (id: AgentId): Promise<Agent> => ({
    ...(await session.reach(id)),
    describe: async () => ({
      queue: 'q',
      closed: false,
      run_id: 'r',
      retries: [{ activity: 'model', attempt: 3, reason: 'overloaded' }],
    }),
  });
  const feed = new SessionFeed(ROOT, reach, { onRetry: (_, retry) => void told.push(retry.attempt) });
  await feed.look();
  await feed.look();
  expect(told).toEqual([3]);
});

test('what a model says is told while it says it, where somebody wants to know', async () => {
  const session = new FakeSession();
  session.views[0] = agentView(ROOT, { status: 'running', is_final: false });
  const said = ['One', 'One, two', 'One, two'];
  const reach = async (id: AgentId): Promise<Agent> => ({
    ...(await session.reach(id)),
    describe: async () => ({
      queue: 'q',
      closed: false,
      run_id: 'r',
      retries: [],
      streaming: { call: '5.1', text: said.shift() ?? '', offset: 0 },
    }),
  });
  const pieces: string[] = [];
  const feed = new SessionFeed(ROOT, reach, { onPartial: ({ text }) => void pieces.push(text) });
  for (const _ of [...said]) await feed.look();
  expect(pieces).toEqual(['One', ', two']);
});
