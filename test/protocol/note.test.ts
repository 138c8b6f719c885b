import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  fittingNote,
  mailSchema,
  NOTE_MAX,
  normalizeNote,
  parsePayload,
  setNoteSchema,
  setThreadNoteArguments,
  spawnAgentArguments,
} from '../../protocol/index.ts';

test('a note is trimmed, and cleared by blank text', () => {
  expect(normalizeNote('  main line \n')).toBe('main line');
  expect(normalizeNote(' \t\n')).toBeUndefined();
  expect(normalizeNote('')).toBeUndefined();
});

const borders = [
  ['the update', setNoteSchema, (note: string) => ({ note })],
  ['the tool', setThreadNoteArguments, (note: string) => ({ id: 'x', note })],
] as const;

test.each(borders)(
  'one that is too long is refused by %s with its length, however long it is',
  (_name, schema, payloadOf) => {
    const refusal = (note: string) => {
      const parsed = parsePayload<unknown>(schema, payloadOf(note));
      return parsed.ok ? undefined : parsed.reason;
    };
    expect(refusal('x'.repeat(1_000))).toBeUndefined();
    expect(refusal(`  ${'x'.repeat(1_000)}\n`)).toBeUndefined();
    expect(refusal('x'.repeat(1_001))).toMatch(/note: too long: 1,001 characters, of 1,000 at most$/);
    expect(refusal('x'.repeat(1_200_000))).toMatch(/note: too long: 1,200,000 characters, of 1,000 at most$/);
  },
);

test('a spawn is not refused for its note, which is looked at when the agent is there', () => {
  const parsed = spawnAgentArguments.safeParse({ message: 'x', thread_note: 'x'.repeat(1_001) });
  expect(parsed.success).toBe(true);
});

test('one that no agent can have sent is no mail', () => {
  expect(mailSchema.safeParse({ type: 'note', note: 'x'.repeat(1_001) }).success).toBe(false);
});

test('for any text that nobody has written as a note, what is kept fits, and shows where it was cut', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 3_000, size: 'max' }), (text) => {
      const kept = fittingNote(text) ?? '';
      expect(kept.length).toBeLessThanOrEqual(NOTE_MAX);
      expect(kept === text.trim() || kept.endsWith('…')).toBe(true);
    }),
  );
  expect(fittingNote('x'.repeat(1_500))).toBe(`${'x'.repeat(999)}…`);
});
