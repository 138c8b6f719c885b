import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  agentCloseArguments,
  agentEvalArguments,
  agentOpenArguments,
  parsePayload,
  sessionsDialect,
} from '../../protocol/index.ts';

const items = [{ type: 'text', text: 'b' }];

describe('the arguments of sessions', () => {
  test.each([
    ['agent_open without a task', agentOpenArguments, {}],
    ['agent_open with prompt and items', agentOpenArguments, { prompt: 'a', items }],
    ['agent_open with a blank prompt', agentOpenArguments, { prompt: ' \n' }],
    ['agent_open with no items', agentOpenArguments, { items: [] }],
    ['agent_open with two types', agentOpenArguments, { prompt: 'a', type: 'plan', agent_type: 'review' }],
    ['agent_open with a name of two parts', agentOpenArguments, { prompt: 'a', name: 'a/b' }],
    ['agent_open with blanks in its name', agentOpenArguments, { prompt: 'a', name: 'my session' }],
    ['agent_open with an empty name', agentOpenArguments, { prompt: 'a', name: '' }],
    ['agent_open with a name above', agentOpenArguments, { prompt: 'a', name: '..' }],
    ['agent_open with a long name', agentOpenArguments, { prompt: 'a', name: 'x'.repeat(65) }],
    ['agent_open with another name for the tools', agentOpenArguments, { prompt: 'a', tools: ['shell'] }],
    ['agent_open with one text for its tools', agentOpenArguments, { prompt: 'a', allowed_tools: 'shell' }],
    ['agent_open with less than no depth', agentOpenArguments, { prompt: 'a', max_depth: -1 }],
    ['agent_open with half a level', agentOpenArguments, { prompt: 'a', max_depth: 0.5 }],
    ['agent_eval of nobody', agentEvalArguments, { message: 'a' }],
    ['agent_eval by name and id', agentEvalArguments, { name: 'a', agent_id: 'a' }],
    ['agent_eval with message and items', agentEvalArguments, { name: 'a', message: 'a', items }],
    ['agent_eval with a blank message', agentEvalArguments, { name: 'a', message: ' ' }],
    ['agent_eval for no time', agentEvalArguments, { name: 'a', timeout_ms: 0 }],
    ['agent_eval for less than no time', agentEvalArguments, { name: 'a', timeout_ms: -1 }],
    ['agent_close of nobody', agentCloseArguments, {}],
    ['agent_close by name and id', agentCloseArguments, { name: 'a', agent_id: 'a' }],
    ['agent_close of an empty name', agentCloseArguments, { name: '' }],
  ])('refuse %s', (_name, schema, args) => {
    expect(schema.safeParse(args).success).toBe(false);
  });

  test.each([
    [{ prompt: 'a', type: 'Explore', agent_type: 'explore' }],
    [{ items, name: 'Map-1.a_b', fork_context: true, max_depth: 0 }],
    [{ prompt: 'a', allowed_tools: [], cwd: '/w', model: 'm' }],
  ])('take %j as it is', (args) => {
    expect(agentOpenArguments.parse(args)).toEqual(args);
  });

  test('presume that agent_eval waits and interrupts nothing', () => {
    expect(agentEvalArguments.parse({ name: 'a' })).toEqual({ name: 'a', block: true, interrupt: false });
  });

  test.each([
    ['a type', agentOpenArguments, { prompt: 'a' }, 'type', 200],
    ['a model', agentOpenArguments, { prompt: 'a' }, 'model', 200],
    ['a folder', agentOpenArguments, { prompt: 'a' }, 'cwd', 4_096],
    ['a name that is asked for', agentEvalArguments, {}, 'name', 1_000],
    ['an id that is closed', agentCloseArguments, {}, 'agent_id', 1_000],
  ])('refuse %s that is too long, and say how long it may be', (_name, schema, args, field, most) => {
    expect(parsePayload<unknown>(schema, { ...args, [field]: 'x'.repeat(most) }).ok).toBe(true);
    const parsed = parsePayload<unknown>(schema, { ...args, [field]: 'x'.repeat(1_000_000) });
    expect(parsed).toMatchObject({ ok: false, reason: expect.stringContaining('too long') });
  });

  test('never throw, whatever they are', () => {
    fc.assert(
      fc.property(fc.anything(), (args) => {
        for (const { parameters } of sessionsDialect.operations) parameters.safeParse(args);
      }),
    );
  });
});

test('the tools of sessions are named, told of and have a schema that models read', () => {
  const { operations } = sessionsDialect;
  expect(operations.map(({ name }) => name)).toEqual(['agent_open', 'agent_eval', 'agent_close']);
  for (const { parameters } of operations) {
    expect(z.toJSONSchema(parameters, { io: 'input' })).toMatchObject({
      type: 'object',
      additionalProperties: false,
    });
  }
});

test.each([
  ['agent_open', { name: 'map', type: 'explore', prompt: 'look' }, 'map explore look'],
  ['agent_open', { agent_type: 'plan', items }, 'plan'],
  ['agent_eval', { name: 'map', message: 'more' }, 'map more'],
  ['agent_close', { agent_id: 'a0000000000000/map' }, 'a0000000000000/map'],
])('people see what a call of %s works on', (tool, args, shown) => {
  const found = sessionsDialect.operations.find(({ name }) => name === tool);
  expect(found?.summary?.(args)).toBe(shown);
});
