import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  childId,
  decideApprovalSchema,
  eventsQuerySchema,
  interruptSchema,
  isUndecodable,
  itemsQuerySchema,
  newRootId,
  operateSchema,
  parsePayload,
  sendInputSchema,
  sentByAgentSchema,
} from '../../protocol/index.ts';

const reasonOf = (payload: unknown) => {
  const parsed = parsePayload(sendInputSchema, payload);
  return parsed.ok ? undefined : parsed.reason;
};

describe('the payload of send_input', () => {
  test('carries a message or a list of parts', () => {
    expect(parsePayload(sendInputSchema, { message: 'go on' })).toEqual({
      ok: true,
      value: { message: 'go on' },
    });
    const items = [
      { type: 'text', text: 'look' },
      { type: 'local_image', path: '/tmp/a.png' },
    ];
    expect(parsePayload(sendInputSchema, { items, id: 'x', interrupt: true }).ok).toBe(true);
  });

  test.each([
    ['neither message nor items', {}, 'give either message or items'],
    ['both', { message: 'a', items: [{ type: 'text', text: 'b' }] }, 'give either message or items'],
    ['a blank message', { message: ' \n' }, 'message is blank'],
    ['blank parts', { items: [{ type: 'text', text: ' ' }] }, 'items are blank'],
    ['no part at all', { items: [] }, 'items: '],
    ['an unknown part', { items: [{ type: 'video' }] }, 'items.0.type: '],
    ['an unknown key', { message: 'a', urgent: true }, 'urgent'],
    ['a wrong type', { message: 7 }, 'message: '],
    ['an empty id', { message: 'a', id: '' }, 'id: '],
    ['nothing', undefined, ''],
    ['null', null, ''],
    ['a list', [], ''],
    ['a number', 7, ''],
  ])('is refused with %s, saying where', (_name, payload, reason) => {
    expect(reasonOf(payload)).toContain(reason);
  });

  test('is taken from the deepest agent with the longest names', () => {
    let from = newRootId(0, Math.random);
    for (let depth = 0; depth < 15; depth++) from = childId(from, 'x'.repeat(64));
    const id = `${from}#i${Number.MAX_SAFE_INTEGER}`;
    expect(reasonOf({ message: 'a', from, id })).toBeUndefined();
    expect(sentByAgentSchema.safeParse({ from, id, message: 7 })).toMatchObject({ data: { from, id } });
    expect(sentByAgentSchema.safeParse({ from, id: 'mine' }).success).toBe(false);
    expect(parsePayload(decideApprovalSchema, { approval_id: id, decision: 'deny' }).ok).toBe(true);
    const resume = { operation: 'resume', agent_id: from };
    expect(parsePayload(operateSchema, resume).ok).toBe(true);
  });

  test('that could not be decoded is refused with its encoding', () => {
    const payload = { undecodable: { encoding: 'binary/encrypted', reason: 'unknown encoding' } };
    expect(isUndecodable(payload)).toBe(true);
    expect(reasonOf(payload)).toBe(
      'the payload could not be decoded (encoding binary/encrypted): unknown encoding',
    );
  });

  test('never makes the check throw, whatever it is', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
    });
    const named = fc.record({ message: fc.anything(), items: fc.anything(), undecodable: fc.anything() });
    fc.assert(
      fc.property(fc.oneof(anything, named), (payload) => {
        const parsed = parsePayload(sendInputSchema, payload);
        expect(typeof parsed.ok).toBe('boolean');
      }),
    );
  });
});

describe('other payloads', () => {
  test('of interrupt and shutdown may be left out', () => {
    expect(parsePayload(interruptSchema.prefault({}), undefined)).toEqual({ ok: true, value: {} });
    expect(parsePayload(interruptSchema.prefault({}), { reason: 'enough' })).toEqual({
      ok: true,
      value: { reason: 'enough' },
    });
    expect(parsePayload(interruptSchema.prefault({}), { why: 'enough' }).ok).toBe(false);
  });

  test('of queries take no negative places', () => {
    expect(itemsQuerySchema.safeParse({ from: 0, to: 3 }).success).toBe(true);
    expect(itemsQuerySchema.safeParse({ from: -1 }).success).toBe(false);
    expect(itemsQuerySchema.safeParse({ from: 0.5 }).success).toBe(false);
    expect(eventsQuerySchema.safeParse({ after: -1 }).success).toBe(false);
    expect(eventsQuerySchema.safeParse({ before: 1 }).success).toBe(false);
  });
});
