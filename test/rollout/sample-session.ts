import fc from 'fast-check';
import {
  type AgentEvent,
  type AgentId,
  agentSettingsSchema,
  EMPTY_DIGEST,
  extendDigest,
  type Item,
  type RolloutAgent,
  type RolloutBody,
  type RolloutHeader,
  sessionSettingsSchema,
  textMessage,
} from '../../protocol/index.ts';

export const SESSION = 'a0k3v9x2m4qd7' as AgentId;

export const HEADER: RolloutHeader = {
  type: 'rollout',
  format: 1,
  session_id: SESSION,
  written_at: '2026-01-02T03:04:05.678Z',
  cadre: '0.1.0',
  queue: `cadre-local/${SESSION}`,
};

const AT = '2026-01-02T03:04:05.678Z';

/** The lines of an agent that has this conversation and these events. */
export function agentLines(
  id: AgentId,
  items: readonly Item[],
  texts: readonly string[] = [],
): RolloutBody[] {
  const parent = id.includes('/') ? (id.slice(0, id.lastIndexOf('/')) as AgentId) : undefined;
  const events = texts.map(
    (text, index): AgentEvent => ({
      seq: index + 1,
      at: AT,
      agent_id: id,
      session_id: SESSION,
      type: 'warning',
      text,
    }),
  );
  const agent: RolloutAgent = {
    type: 'agent',
    run_id: `run-of-${id}`,
    identity: {
      agent_id: id,
      session_id: SESSION,
      ...(parent === undefined ? {} : { parent_id: parent }),
      depth: id.split('/').length - 1,
      source: parent === undefined ? { kind: 'cli' } : { kind: 'sub_agent', parent_id: parent, depth: 1 },
      task: 'the task',
      search_attributes: ['CadreRole'],
    },
    settings: agentSettingsSchema.parse({ model: 'm', provider: 'p', working_directory: '/w' }),
    ...(parent === undefined ? { session: sessionSettingsSchema.parse({}) } : {}),
    status: 'completed',
    closed: true,
    open_children: [],
    reports: 3,
    items: items.length,
    state: {
      conversation: { items: [], digest: items.reduce(extendDigest, EMPTY_DIGEST), known: 0, bytes: 0 },
      inbox: { waiting: [], seen: [], taken: [] },
      children: { known: [], counters: {} },
      events: { held: events, last: events.length },
      standing: {
        status: 'completed',
        since: 0,
        updated: 0,
        closed: true,
        turn: 1,
        step: 1,
        turn_started: 0,
        usage: { total_tokens: 0 },
        plan: [],
        approval_missing: false,
      },
      ...(parent === undefined
        ? { tree: { reports: [], slots: { working: [], lent: [], spawned: 0 } } }
        : {}),
      orders: [],
      verdicts: [],
      operations: [],
      counters: { reports: 3, requests: 0, inputs: 0, approvals: 0 },
    },
  };
  return [
    agent,
    ...items.map((item, index): RolloutBody => ({ type: 'item', agent_id: id, index, item })),
    ...events.map((event): RolloutBody => ({ type: 'event', event })),
  ];
}

/** A root with two items and an event, and a child with one. */
export const SAMPLE: RolloutBody[] = [
  ...agentLines(SESSION, [textMessage('hello'), { type: 'assistant_message', text: 'hi' }], ['watch out']),
  ...agentLines(`${SESSION}/worker-1` as AgentId, [textMessage('work')]),
];

const text = fc.string({ unit: 'binary', maxLength: 40 });
const item: fc.Arbitrary<Item> = fc.oneof(
  text.map((value) => textMessage(value)),
  text.map((value): Item => ({ type: 'assistant_message', text: value })),
  fc
    .record({ summary: text, provider: fc.dictionary(text, fc.jsonValue()) })
    .map((rest): Item => ({ type: 'reasoning', summary: rest.summary, provider: rest.provider })),
  fc
    .tuple(text, text)
    .map(([call_id, args]): Item => ({ type: 'tool_call', call_id, name: 'x', arguments: args })),
  fc
    .tuple(text, text, fc.boolean())
    .map(([call_id, output, success]): Item => ({ type: 'tool_output', call_id, output, success })),
  text.map((value): Item => ({ type: 'notice', text: value })),
);
const conversation = fc.array(item, { maxLength: 250 });
const events = fc.array(text, { maxLength: 5 });

/** Any session, as what comes out of JSON. */
export const session: fc.Arbitrary<RolloutBody[]> = fc
  .array(fc.tuple(conversation, events), { minLength: 1, maxLength: 4 })
  .map((agents) =>
    agents.flatMap(([items, texts], index) =>
      agentLines((index === 0 ? SESSION : `${SESSION}/worker-${index}`) as AgentId, asJson(items), texts),
    ),
  )
  .map(asJson);

function asJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
