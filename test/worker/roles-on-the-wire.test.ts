import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import type { Role } from '../../activities/roles/role.ts';
import type { SeenRequest } from '../support/wire-requests.ts';
import { outputs } from '../workflows/script.ts';
import { type Lines, withRealWorker, withRole } from './real-worker.ts';

const start = withRealWorker();

const critic: Role = {
  name: 'critic',
  description: 'Finds fault.',
  body: 'You say what is wrong, and nothing else.',
  model: 'of-role',
  reasoning_effort: 'high',
  agent_names: [
    {
      name: 'kind',
      description: 'Finds fault gently.',
      model: 'of-persona',
      reasoning_effort: 'low',
      prompt: 'You begin with what is good.',
    },
    { name: 'plain', prompt: 'You write one sentence.' },
  ],
};
const MODELS = ['of-role', 'of-persona', 'of-call'];

/** Model, effort and the end of the instructions, as the provider was sent them. */
function sent(request: SeenRequest | undefined) {
  const { body, instructions = '', wire, model } = request ?? {};
  const effort =
    wire === 'responses'
      ? (body?.reasoning as { effort?: string } | undefined)?.effort
      : body?.reasoning_effort;
  return { model, effort, instructions };
}
const spawnEach = (...calls: object[]): Lines[number] => ({
  calls: calls.map((args) => ({ name: 'spawn_agent', arguments: { message: 'look', ...args } })),
});
const waitFor = (...ids: string[]): Lines[number] => ({
  calls: [{ name: 'wait', arguments: { ids, mode: 'all' } }],
});

test.each(['responses', 'chat'] as const)(
  'model and effort of a role reach the provider in every request of its agents, and so do those of its children (%s)',
  async (wire) => {
    withRole(critic);
    const session = await start({
      wire,
      models: MODELS,
      settings: { working_directory: tmpdir(), reasoning_effort: 'minimal' },
      cast: {
        root: [
          spawnEach(
            { agent_type: 'critic' },
            { agent_type: 'critic', model: 'of-call', reasoning_effort: 'medium' },
            { agent_type: 'critic', agent_name: 'kind' },
            { agent_type: 'critic', model: 'inherit' },
            {},
          ),
          waitFor('critic-1', 'critic-2', 'critic-3', 'critic-4', 'default-1'),
          { text: 'ok' },
        ],
        'critic-1': [
          { calls: [{ name: 'list_dir', arguments: { path: '.' } }] },
          spawnEach({}),
          waitFor('critic-1/default-1'),
          { text: 'done' },
        ],
        'critic-1/default-1': [{ text: 'done' }],
        'critic-2': [{ text: 'done' }],
        'critic-3': [{ text: 'done' }],
        'critic-4': [{ text: 'done' }],
        'default-1': [{ text: 'done' }],
      },
    });
    expect(await session.root.wait()).toMatchObject({ status: 'completed', message: 'ok' });
    const asked = (name: string) =>
      session.requests(name).map((request) => [sent(request).model, sent(request).effort]);
    const ofRole = ['of-role', 'high'];
    expect(asked('critic-1')).toEqual([ofRole, ofRole, ofRole, ofRole]);
    expect(asked('critic-1/default-1')).toEqual([ofRole]);
    expect(asked('critic-2')).toEqual([['of-call', 'medium']]);
    expect(asked('critic-3')).toEqual([['of-persona', 'low']]);
    expect(asked('critic-4')).toEqual([['test-model', 'high']]);
    expect(asked('default-1')).toEqual([['test-model', 'minimal']]);
    expect(asked('root')).toEqual(Array(3).fill(['test-model', 'minimal']));
    // What is shown is what was asked for.
    expect(await session.agent('critic-3').status()).toMatchObject({
      model: 'of-persona',
      reasoning_effort: 'low',
    });
  },
);

test('the model is told the text of its role and then the prompt of its persona, of its own and of no other', async () => {
  withRole(critic);
  const session = await start({
    models: MODELS,
    settings: { working_directory: tmpdir() },
    cast: {
      root: [
        spawnEach(
          { agent_type: 'critic', agent_name: 'kind' },
          { agent_type: 'critic', agent_name: 'plain' },
          { agent_type: 'critic' },
        ),
        waitFor('critic-1', 'critic-2', 'critic-3'),
        { text: 'ok' },
      ],
      'critic-1': [
        { calls: [{ name: 'list_dir', arguments: { path: '.' } }] },
        spawnEach({}),
        waitFor('critic-1/default-1'),
        { text: 'done' },
      ],
      'critic-1/default-1': [{ text: 'done' }],
      'critic-2': [{ text: 'done' }],
      'critic-3': [{ text: 'done' }],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed' });
  const told = (name: string) => sent(session.requests(name)[0]).instructions;
  expect(told('critic-1').endsWith(`\n\n${critic.body}\n\nYou begin with what is good.`)).toBe(true);
  expect(told('critic-2').endsWith(`\n\n${critic.body}\n\nYou write one sentence.`)).toBe(true);
  expect(told('critic-3').endsWith(`\n\n${critic.body}`)).toBe(true);
  // The same in every request, so that the cache of the provider serves it.
  expect(new Set(session.requests('critic-1').map((request) => request.instructions)).size).toBe(1);
  // A persona is no part of what its children inherit.
  expect(told('critic-1/default-1')).not.toContain('what is good');
  expect(told('root')).not.toContain('what is wrong');
});

test('a model or an effort that cannot be had starts nothing, and no model is asked in its place', async () => {
  withRole({ ...critic, model: 'imaginary' });
  withRole({ ...critic, name: 'eager', model: 'of-role', reasoning_effort: 'enormous' });
  const session = await start({
    models: MODELS,
    settings: { working_directory: tmpdir() },
    cast: {
      root: [
        spawnEach(
          { agent_type: 'critic' },
          { agent_type: 'eager' },
          { model: 'imaginary' },
          { agent_type: 'critic', agent_name: 'nobody' },
        ),
        { text: 'ok' },
      ],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed' });
  const errors = outputs(await session.items(), 'spawn_agent').map(({ error }) => error);
  const models = 'Accepted: of-call, of-persona, of-role, test-model.';
  expect(errors).toMatchObject([
    { code: 'unknown_model', message: expect.stringContaining('imaginary'), hint: models },
    { code: 'invalid_arguments', message: expect.stringContaining('enormous') },
    { code: 'unknown_model', message: expect.stringContaining('imaginary'), hint: models },
    { code: 'unknown_role', hint: 'Accepted: kind, plain.' },
  ]);
  expect((await session.root.tree()).agents).toHaveLength(1);
  expect(session.requests('root')).toHaveLength(2);
});
