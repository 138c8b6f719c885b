import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  closeAgentArguments,
  collabTools,
  parsePayload,
  resumeAgentArguments,
  sendInputArguments,
  sendInputSchema,
  setThreadNoteArguments,
  spawnAgentArguments,
  waitArguments,
} from '../../protocol/index.ts';

const parts = (count: number) => Array.from({ length: count }, () => ({ type: 'text', text: 'x' }));

describe('the arguments of collab', () => {
  test.each([
    ['spawn_agent without a task', spawnAgentArguments, {}],
    [
      'spawn_agent with message and items',
      spawnAgentArguments,
      { message: 'a', items: [{ type: 'text', text: 'b' }] },
    ],
    ['spawn_agent with a blank message', spawnAgentArguments, { message: ' \n' }],
    ['spawn_agent with no items', spawnAgentArguments, { items: [] }],
    ['spawn_agent with blank items', spawnAgentArguments, { items: [{ type: 'text', text: ' \n' }] }],
    ['send_input with blank items', sendInputArguments, { id: 'x', items: [{ type: 'text', text: '' }] }],
    ['send_input with too many items', sendInputArguments, { id: 'x', items: parts(1_001) }],
    [
      'spawn_agent with an image from nowhere',
      spawnAgentArguments,
      { items: [{ type: 'image', image_url: 'ftp://x' }] },
    ],
    ['spawn_agent with an unknown effort', spawnAgentArguments, { message: 'a', reasoning_effort: 'huge' }],
    ['spawn_agent with no steps at all', spawnAgentArguments, { message: 'a', max_steps: 0 }],
    ['spawn_agent with an unknown argument', spawnAgentArguments, { message: 'a', colour: 'red' }],
    ['send_input without an id', sendInputArguments, { message: 'a' }],
    ['send_input without input', sendInputArguments, { id: 'worker-1' }],
    ['wait for nobody', waitArguments, { ids: [] }],
    ['wait for no time', waitArguments, { ids: ['worker-1'], timeout_ms: 0 }],
    ['wait for less than no time', waitArguments, { ids: ['worker-1'], timeout_ms: -1 }],
    ['wait in an unknown mode', waitArguments, { ids: ['worker-1'], mode: 'some' }],
    ['close_agent with an empty id', closeAgentArguments, { id: '' }],
  ])('refuse %s', (_name, schema, args) => {
    expect(schema.safeParse(args).success).toBe(false);
  });

  test.each([
    ['the id of an input', sendInputArguments, { message: 'a' }, 'id', 1_000],
    ['the id of a closing', closeAgentArguments, {}, 'id', 1_000],
    ['the id of a resume', resumeAgentArguments, {}, 'id', 1_000],
    ['the id of a note', setThreadNoteArguments, { note: 'a' }, 'id', 1_000],
    ['a role', spawnAgentArguments, { message: 'a' }, 'agent_type', 200],
    ['a persona', spawnAgentArguments, { message: 'a' }, 'agent_name', 200],
    ['a model', spawnAgentArguments, { message: 'a' }, 'model', 200],
    ['a folder', spawnAgentArguments, { message: 'a' }, 'working_directory', 4_096],
  ])('refuse %s that is too long, and say how long it may be', (_name, schema, args, field, most) => {
    expect(parsePayload<unknown>(schema, { ...args, [field]: 'x'.repeat(most) }).ok).toBe(true);
    const parsed = parsePayload<unknown>(schema, { ...args, [field]: 'x'.repeat(1_000_000) });
    const limit = most.toLocaleString('en');
    expect(parsed).toEqual({
      ok: false,
      reason: `${field}: too long: 1,000,000 characters, of ${limit} at most`,
    });
  });

  test('refuse ids and paths that are too long wherever they stand', () => {
    const long = 'x'.repeat(5_000);
    expect(parsePayload(waitArguments, { ids: ['a', long] })).toEqual({
      ok: false,
      reason: 'ids.1: too long: 5,000 characters, of 1,000 at most',
    });
    for (const part of [
      { type: 'local_image', path: long },
      { type: 'mention', name: 'x', path: long },
      { type: 'skill', name: long, path: 'x' },
    ]) {
      const parsed = parsePayload(sendInputArguments, { id: 'x', items: [part] });
      expect(parsed).toMatchObject({
        ok: false,
        reason: expect.stringContaining('too long: 5,000 characters'),
      });
    }
  });

  test('fill in what is left out', () => {
    expect(waitArguments.parse({ ids: ['worker-1'] })).toEqual({ ids: ['worker-1'], mode: 'any' });
    expect(sendInputArguments.parse({ id: 'worker-1', message: 'a' })).toEqual({
      id: 'worker-1',
      message: 'a',
      interrupt: false,
    });
  });

  test('take an image without a word', () => {
    const items = [
      { type: 'text', text: '' },
      { type: 'image', image_url: 'https://example.com/a.png' },
    ];
    expect(spawnAgentArguments.safeParse({ items }).success).toBe(true);
    expect(sendInputArguments.safeParse({ id: 'worker-1', items }).success).toBe(true);
  });

  test('let nothing through that the receiver of an input refuses', () => {
    const text = fc.constantFrom('', ' ', 'x', 'x'.repeat(600_000));
    const part = fc.oneof(
      fc.record({ type: fc.constant('text'), text }),
      fc.record({ type: fc.constant('local_image'), path: text }),
      fc.record({ type: fc.constant('mention'), name: text, path: text }),
    );
    const many = fc.integer({ min: 999, max: 1_002 }).map(parts);
    const input = fc.oneof(
      fc.record({ message: text }),
      fc.record({ items: fc.array(part, { maxLength: 3 }) }),
      fc.record({ items: many }),
    );
    fc.assert(
      fc.property(input, (given) => {
        const { success } = sendInputArguments.safeParse({ id: 'worker-1', ...given });
        expect(parsePayload(sendInputSchema, given).ok).toBe(success);
        expect(spawnAgentArguments.safeParse(given).success).toBe(success);
      }),
      { numRuns: 60 },
    );
  });

  test('take times out of range, which the wait clamps', () => {
    for (const timeout_ms of [1, 999_999_999]) {
      expect(waitArguments.parse({ ids: ['worker-1'], timeout_ms })).toMatchObject({ timeout_ms });
    }
  });

  test('are described for each tool', () => {
    expect(collabTools.map(({ name }) => name)).toEqual([
      'spawn_agent',
      'send_input',
      'wait',
      'close_agent',
      'resume_agent',
      'list_active_agents',
      'set_thread_note',
    ]);
    for (const { description } of collabTools) expect(description.length).toBeGreaterThan(40);
  });
});
