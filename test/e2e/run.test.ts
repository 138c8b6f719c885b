import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentView } from '../../protocol/index.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { scriptAnswerer } from '../support/scripted-model-server.ts';
import { CadreHome, SCRIPTS } from './cadre-home.ts';

const home = new CadreHome();

beforeAll(() => mkdirSync(home.folder, { recursive: true }));
afterAll(() => home.remove());

interface RunJson {
  session_id: string;
  status: string;
  output: string;
  usage: { total_tokens: number };
  duration_ms: number;
  agents: AgentView[];
}

test('the rehearsal surveys a folder with three sub-agents whose commands are real, and says that it is a script', async () => {
  writeFileSync(join(home.folder, 'notes.md'), '# Notes\nTODO: water the plants\n');
  const { code, stdout, stderr } = await home.run(['run', 'survey this folder'], { cwd: home.folder });
  expect(stderr).toMatch(/rehearsal/i);
  expect(stderr).toContain('OPENAI_API_KEY');
  expect(stderr).toMatch(/http:\/\/127\.0\.0\.1:\d+\/namespaces\/default\/workflows\/a/);
  expect(stdout).toContain('notes.md');
  expect(stdout).toContain('water the plants');
  expect(code).toBe(0);
});

describe.each(['responses', 'chat'] as const)('over the wire format %s', (wire) => {
  let model: ModelServer;
  beforeAll(async () => {
    model = await startModelServer(scriptAnswerer(join(SCRIPTS, 'tree.yaml')), { wires: [wire] });
  });
  afterAll(() => model.close());

  test('a root spawns three children, waits for all, closes them and answers', async () => {
    const folder = home.newFolder(wire);
    const run = await home.json<RunJson>(['run', 'the tree'], {
      cwd: folder,
      env: { OPENAI_BASE_URL: model.url },
    });
    expect(run.status).toBe('completed');
    expect(run.output).toBe('report of child one; report of child two; report of child three');
    expect(run.agents.map((agent) => [agent.status, agent.closed, agent.depth])).toEqual([
      ['completed', true, 0],
      ['shutdown', true, 1],
      ['shutdown', true, 1],
      ['shutdown', true, 1],
    ]);
    for (const agent of run.agents) expect(agent.usage.total_tokens).toBeGreaterThan(0);
    expect(run.usage.total_tokens).toBe(run.agents.reduce((sum, agent) => sum + agent.usage.total_tokens, 0));
    const lines = readFileSync(join(folder, 'effects.log'), 'utf8').trim().split('\n');
    expect(lines.sort()).toEqual(['child one', 'child three', 'child two']);
    expect(model.requests.every((request) => request.wire === wire)).toBe(true);
  });
});

test('--jsonl prints every event of every agent as a line, numbered without gaps, and the result last', async () => {
  const script = `model_providers.script.script="${join(SCRIPTS, 'tree.yaml')}"`;
  const { stdout, code } = await home.run(
    ['run', 'the tree', '--jsonl', '-c', 'model_provider=script', '-c', script],
    { cwd: home.folder },
  );
  expect(code).toBe(0);
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toMatchObject({ status: 'completed' });
  const numbers = new Map<string, number[]>();
  for (const event of lines.slice(0, -1)) {
    numbers.set(event.agent_id, [...(numbers.get(event.agent_id) ?? []), event.seq]);
  }
  expect(numbers.size).toBe(4);
  for (const seqs of numbers.values()) expect(seqs).toEqual(seqs.map((_, index) => index + 1));
});

test('ps, tree, status, items and events show a session that has ended', async () => {
  const { agents } = await home.json<{ agents: AgentView[] }>(['ps', '--all']);
  const root = agents.find((agent) => agent.depth === 0);
  expect(root?.closed).toBe(true);
  const id = root?.agent_id ?? '';
  const tree = await home.json<{ agents: AgentView[] }>(['tree', id]);
  expect(tree.agents).toHaveLength(4);
  const status = await home.json<AgentView>(['status', tree.agents[1]?.agent_id ?? '']);
  expect(status).toMatchObject({ closed: true, depth: 1, status: 'shutdown' });
  const { items } = await home.json<{ items: { type: string }[] }>(['items', id]);
  expect(items[0]).toMatchObject({ type: 'user_message' });
  expect(items.at(-1)).toMatchObject({ type: 'assistant_message' });
  const { events } = await home.json<{ events: { type: string }[] }>(['events', id]);
  expect(events.map((event) => event.type)).toContain('agent.spawn.end');
});

test('--stream tells an answer in pieces while it is made, and then as a whole', async () => {
  const text = Array.from({ length: 60 }, (_, index) => `word ${index} `).join('');
  const model = await startModelServer(() => ({ text, paceMs: 1_000 }));
  const { stdout, code } = await home.run(['run', 'talk', '--jsonl', '--stream'], {
    cwd: home.folder,
    env: { OPENAI_BASE_URL: model.url },
  });
  await model.close();
  expect(code).toBe(0);
  const messages = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === 'message');
  const pieces = messages.filter(({ partial }) => partial === true);
  expect(pieces.length).toBeGreaterThan(1);
  for (const { text: piece, offset } of pieces) expect(text.slice(offset)).toMatch(new RegExp(`^${piece}`));
  expect(messages.indexOf(pieces.at(-1))).toBeLessThan(
    messages.findIndex(({ text: whole }) => whole === text),
  );
});

test('--stream without --jsonl is refused, as it has no place for pieces', async () => {
  const { code, stderr } = await home.run(['run', 'talk', '--stream'], { cwd: home.folder });
  expect(code).toBe(2);
  expect(stderr).toContain('--jsonl');
});
