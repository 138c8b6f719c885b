import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ModelError } from '../../../../activities/model/model-error.ts';
import { play, type Scene } from '../../../../activities/model/script/play.ts';
import { parseScript } from '../../../../activities/model/script/script.ts';
import { ScriptProvider } from '../../../../activities/model/script/script-provider.ts';
import { type Item, textMessage } from '../../../../protocol/index.ts';
import { AGENT, modelCall, said, toolOutput } from '../conversations.ts';

const folder = mkdtempSync(join(tmpdir(), 'script-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function line(yaml: string, items: Item[], scene: Partial<Scene> = {}) {
  const agent = { id: AGENT, role: 'default' };
  return play(parseScript(yaml, 'play.yaml'), 'play.yaml', { agent, items, toolsOffered: true, ...scene });
}

function providerOf(yaml: string): ScriptProvider {
  const path = join(folder, 'play.yaml');
  writeFileSync(path, yaml);
  return new ScriptProvider(path);
}

const quiet = { signal: new AbortController().signal, onDelta: () => {} };

const TWO_STEPS = `
agents:
  - steps:
      - text: I look
        calls:
          - { tool: shell, id: count, arguments: { command: 'ls | wc -l' } }
      - text: 'There are {{ outputs.count | trim }} files; you asked: {{ task }}'
`;

test('steps follow one another, by the answers that the conversation holds', () => {
  const items: Item[] = [textMessage('count')];
  const first = line(TWO_STEPS, items);
  expect(first).toMatchObject({
    text: 'I look',
    calls: [{ call_id: 'count-1', name: 'shell', arguments: '{"command":"ls | wc -l"}' }],
  });
  items.push(said('I look'), ...first.calls, toolOutput('count-1', ' 7\n'));
  expect(line(TWO_STEPS, items)).toMatchObject({ text: 'There are 7 files; you asked: count', calls: [] });
});

test('the same conversation gets the same answer from any process, however often it asks', async () => {
  const items: Item[] = [textMessage('count'), said('I look'), toolOutput('count-1', '7')];
  const answers = [];
  for (let n = 0; n < 3; n++) answers.push(await providerOf(TWO_STEPS).complete(modelCall(items), quiet));
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
});

test('agents are told apart by role and task', () => {
  const script = `
agents:
  - { role: explorer, task: 'size of', steps: [{ text: size }] }
  - { role: explorer, steps: [{ text: other }] }
  - { steps: [{ text: root }] }
`;
  const explorer = { agent: { id: `${AGENT}/explorer-1`, role: 'explorer' } };
  expect(line(script, [textMessage('the SIZE OF it')], explorer).text).toBe('size');
  expect(line(script, [textMessage('else')], explorer).text).toBe('other');
  expect(line(script, [textMessage('the size of it')]).text).toBe('root');
});

test('templates look into outputs that are JSON, also by a key from another output', () => {
  const script = `
agents:
  - steps:
      - text: >-
          {{ outputs.wait.status[outputs.spawn.agent_id].completed | first_line }}
        calls:
          - { tool: wait, arguments: { ids: ['{{ outputs.spawn.agent_id }}'], all: '{{ outputs.wait.status }}' } }
`;
  const status = { 'a/w-1': { completed: 'one\ntwo' } };
  const items = [
    textMessage('go'),
    toolOutput('spawn-1', '{"agent_id":"a/w-1"}'),
    toolOutput('wait-2', JSON.stringify({ status })),
  ];
  const { text, calls } = line(script, items);
  expect(text).toBe('one');
  expect(JSON.parse(calls[0]?.arguments ?? '')).toEqual({ ids: ['a/w-1'], all: status });
});

test('the newest output of a name counts', () => {
  const script = 'agents: [{ steps: [{ text: "{{ outputs.shell }}" }] }]';
  const items = [textMessage('go'), toolOutput('shell-1', 'old'), toolOutput('shell-2', 'new')];
  expect(line(script, items).text).toBe('new');
});

test('turns give every user message steps of its own', () => {
  const script = `
agents:
  - turns:
      - - { calls: [{ tool: shell }] }
        - { text: first done }
      - - { text: 'second: {{ input }}' }
    otherwise: { text: enough }
`;
  const items: Item[] = [textMessage('one')];
  expect(line(script, items).calls).toHaveLength(1);
  items.push(
    { type: 'tool_call', call_id: 'shell-1', name: 'shell', arguments: '{}' },
    toolOutput('shell-1'),
  );
  expect(line(script, items).text).toBe('first done');
  items.push(said('first done'), textMessage('two'));
  expect(line(script, items).text).toBe('second: two');
  items.push(said('second: two'), textMessage('three'));
  expect(line(script, items).text).toBe('enough');
});

test.each([
  ['no list at all', 'otherwise: { text: "again: {{ input }}" }'],
  ['an empty list of steps', 'steps: [], otherwise: { text: "again: {{ input }}" }'],
  ['an empty list of turns', 'turns: [], otherwise: { text: "again: {{ input }}" }'],
  ['a turn without steps', 'turns: [[], []], otherwise: { text: "again: {{ input }}" }'],
])('an agent with %s plays otherwise from the start', (_what, agent) => {
  const script = `agents: [{ ${agent} }]`;
  const items: Item[] = [textMessage('one')];
  expect(line(script, items).text).toBe('again: one');
  items.push(said('again: one'), textMessage('two'));
  expect(line(script, items).text).toBe('again: two');
});

const OUTPUTS = [
  textMessage('go'),
  toolOutput('found-1', '{"name": "x", "in": {"lines": [1, 2]}, "none": null}'),
  toolOutput('ids-2', '["a", "b"]'),
  { type: 'notice', text: 'first' },
  { type: 'notice', text: 'second' },
] as const satisfies readonly Item[];

test.each([
  ['{{ outputs.found.in }}', '{"lines":[1,2]}'],
  ['in: {{ outputs.found.in }}', 'in: {"lines":[1,2]}'],
  ['{{ outputs.ids }}, {{ outputs.found.in }}', '["a","b"], {"lines":[1,2]}'],
  ['{% capture all %}<{{ outputs.found.in }}>{% endcapture %}{{ all }}', '<{"lines":[1,2]}>'],
  ['{{ outputs.found.in | trim }} {{ outputs.ids | lines }}', '{"lines":[1,2]} 1'],
  ['{{ outputs.found.in | body }}', '{"lines":[1,2]}'],
  ['{{ outputs.found.in | json | upcase }}', '{"LINES":[1,2]}'],
  ['ids: {{ outputs.ids | join: " and " }}', 'ids: a and b'],
  ['<{{ outputs.found.none }}>', '<>'],
  ['{{ agent }}', `{"id":"${AGENT}","role":"default"}`],
  ['{{ notices }}', 'first\nsecond'],
  ['Heard: {{ notices }}.', 'Heard: first\nsecond.'],
  ['{{ notices.last }} of {{ notices.size }}', 'second of 2'],
  ['{% for n in notices %}[{{ n }}]{% endfor %}', '[first][second]'],
  ['{{ notices | join: "; " }} {{ notices | json }}', 'first; second ["first","second"]'],
])('the text %j shows values in full', (template, text) => {
  const script = JSON.stringify({ agents: [{ steps: [{ text: template }] }] });
  expect(line(script, [...OUTPUTS]).text).toBe(text);
});

test.each([
  ['{{ outputs.ids }}', ['a', 'b']],
  ['{{ outputs.found.in }}', { lines: [1, 2] }],
  ['{% if true %}{{ outputs.ids }}{% endif %}', ['a', 'b']],
  ['{{ notices }}', ['first', 'second']],
  ['see {{ outputs.ids }}', 'see ["a","b"]'],
])('the argument %j keeps its type where it stands alone', (template, value) => {
  const script = JSON.stringify({
    agents: [{ steps: [{ calls: [{ tool: 't', arguments: { x: template } }] }] }],
  });
  expect(JSON.parse(line(script, [...OUTPUTS]).calls[0]?.arguments ?? '')).toEqual({ x: value });
});

test('a step is repeated as often as it says', () => {
  const script = 'agents: [{ steps: [{ calls: [{ tool: shell }], repeat: 3 }, { text: done }] }]';
  const items: Item[] = [textMessage('go')];
  for (let n = 1; n <= 3; n++) {
    const { calls } = line(script, items);
    expect(calls).toMatchObject([{ call_id: `shell-${n}` }]);
    items.push(...calls, toolOutput(`shell-${n}`));
  }
  expect(line(script, items).text).toBe('done');
});

test('arguments that are a text are sent as they are, broken or not', () => {
  const script = 'agents: [{ steps: [{ calls: [{ tool: shell, arguments: "{ {{ broken" }] }] }]';
  expect(line(script, [textMessage('go')]).calls).toMatchObject([{ arguments: '{ {{ broken' }]);
});

test('a step that wants tools when none are on offer hands back', () => {
  const script = 'agents: [{ hand_back: "so far: {{ task }}", steps: [{ calls: [{ tool: shell }] }] }]';
  expect(line(script, [textMessage('go')], { toolsOffered: false })).toMatchObject({
    text: 'so far: go',
    calls: [],
  });
});

describe('a failing step', () => {
  const failing = (fail: string) => providerOf(`agents: [{ steps: [{ text: well, fail: ${fail} }] }]`);

  test('fails as often as it says, by the number of the attempt', async () => {
    const provider = failing('{ status: 429, retry_after: 2, times: 2 }');
    for (const attempt of [1, 2]) {
      const error = await provider
        .complete(modelCall([textMessage('go')], { attempt }), quiet)
        .catch((e) => e);
      expect(error).toMatchObject({ code: 'model_unreachable', retryable: true, retryAfterMs: 2_000 });
    }
    const reply = await provider.complete(modelCall([textMessage('go')], { attempt: 3 }), quiet);
    expect(reply.items).toEqual([said('well')]);
  });

  test.each([
    ['{ status: 401 }', 'model_refused', false],
    ['{ status: 500 }', 'model_unreachable', true],
    ['{ fault: drop }', 'model_unreachable', true],
    ['{ fault: invalid_json }', 'model_answer_unreadable', true],
  ])('%s is %s', async (fail, code, retryable) => {
    const error = await failing(fail)
      .complete(modelCall([textMessage('go')]), quiet)
      .catch((e) => e);
    expect(error).toMatchObject({ code, retryable });
  });

  test('may answer nothing', async () => {
    const reply = await failing('{ fault: empty }').complete(modelCall([textMessage('go')]), quiet);
    expect(reply.items).toEqual([]);
  });
});

test('a delay ends with an abort', async () => {
  const provider = providerOf('agents: [{ steps: [{ text: late, delay_ms: 600000 }] }]');
  const abort = new AbortController();
  const running = provider.complete(modelCall([textMessage('go')]), { ...quiet, signal: abort.signal });
  setTimeout(() => abort.abort(), 50);
  await expect(running).rejects.toMatchObject({ name: 'AbortError' });
});

test.each([
  ['agents: [{ steps: [{ texd: x }] }]', 'agents.0.steps.0', 'texd'],
  ['agents: [{ steps: [{ text: x }], turns: [[{ text: x }]] }]', 'agents.0', 'either steps or turns'],
  ['agents: [{ steps: [] }]', 'agents.0', 'needs steps, turns or otherwise'],
  ['agents: [{ turns: [[]] }]', 'agents.0', 'needs steps, turns or otherwise'],
  ['agents: [{ role: x }]', 'agents.0', 'needs steps, turns or otherwise'],
  ['agents: [{ steps: [{}] }]', 'agents.0.steps.0', 'needs text or calls'],
  ['agents: [{ task: "(", steps: [{ text: x }] }]', 'agents.0.task', 'regular expression'],
  ['agents: [{ steps: [{ calls: [{ tool: a }, { tool: a }] }] }]', 'agents.0.steps.0', 'same name'],
  ['agents:\n  - steps: [', 'line', ''],
  ['', '', ''],
])('a broken script names the place and the reason: %s', (yaml, place, reason) => {
  const error = (() => {
    try {
      return parseScript(yaml, 'broken.yaml');
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toBeInstanceOf(ModelError);
  expect(error).toMatchObject({ code: 'script_failed', retryable: false });
  for (const part of ['broken.yaml', place, reason]) expect((error as ModelError).message).toContain(part);
});

test.each([
  ['agents: [{ steps: [{ text: "{{ outputs.none.id }}" }] }]', 'agents.0.steps.0', 'outputs.none'],
  ['agents: [{ steps: [{ text: "{{ task | nofilter }}" }] }]', 'agents.0.steps.0', 'nofilter'],
  ['agents: [{ steps: [{ text: "{{ task | date }}" }] }]', 'agents.0.steps.0', 'date'],
  ['agents: [{ role: other, steps: [{ text: x }] }]', 'agents', 'role default'],
])('a step that cannot be played names the place and the reason: %s', (yaml, place, reason) => {
  expect(() => line(yaml, [textMessage('go')])).toThrow(ModelError);
  expect(() => line(yaml, [textMessage('go')])).toThrow(place);
  expect(() => line(yaml, [textMessage('go')])).toThrow(reason);
});

test('a script that has come to its end says which step is missing', () => {
  const script = 'agents: [{ steps: [{ text: once }] }]';
  const items = [textMessage('go'), said('once'), textMessage('again')];
  expect(() => line(script, items)).toThrow(/agents\.0\.steps: there is no step left for answer 2/);
});

test('a script that is not there is named', async () => {
  const provider = new ScriptProvider(join(folder, 'nowhere.yaml'));
  await expect(provider.complete(modelCall([textMessage('go')]), quiet)).rejects.toThrow(
    /nowhere\.yaml.*no such file/,
  );
});

test('a script that is no file is named, and not waited for', async () => {
  const provider = new ScriptProvider('/dev/zero');
  await expect(provider.complete(modelCall([textMessage('go')]), quiet)).rejects.toThrow(
    /\/dev\/zero.*no ordinary file/,
  );
});
