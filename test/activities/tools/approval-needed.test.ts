import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ApprovalNeeded } from '../../../activities/tools/index.ts';
import { CadreError } from '../../../protocol/index.ts';

const needOf = (summary: string, key = 'k') =>
  new ApprovalNeeded({ kind: 'command', summary, reason: 'r', key }).need;

test('a person is asked unless nobody is there or the policy is never to ask', () => {
  const needed = new ApprovalNeeded(
    { kind: 'command', summary: 's', reason: 'it writes', key: 'k' },
    { subject: 'This command', hint: 'Read instead.' },
  );
  for (const policy of ['on-request', 'untrusted'] as const) {
    expect(needed.refusal({ nonInteractive: false, policy })).toBeUndefined();
  }
  expect(needed.refusal({ nonInteractive: false, policy: 'never' })?.body).toEqual({
    code: 'approval_denied',
    message: 'This command needs an approval, and the approval policy is "never": it writes.',
    hint: 'Read instead.',
    retryable: false,
  });
  for (const policy of ['on-request', 'untrusted', 'never'] as const) {
    expect(needed.refusal({ nonInteractive: true, policy })?.body).toMatchObject({
      code: 'approval_unavailable',
      message: 'This command needs an approval, and nobody can be asked: it writes.',
    });
  }
  expect(needed).toBeInstanceOf(CadreError);
});

test('what a person reads hides nothing: breaks and controls are shown, and a cut says so', () => {
  expect(needOf('echo a\nrm b').summary).toBe('echo a ⏎ rm b');
  expect(needOf('a\u001b[2Kb\u202ec\u200bd').summary).toBe('a\\u{1b}[2Kb\\u{202e}c\\u{200b}d');
  expect(needOf(' \u00a0/bin/true\u3164 a\u2003b\r\n').summary).toBe(
    '\\u{a0}/bin/true\\u{3164} a\\u{2003}b\\u{d}',
  );
  const long = needOf(`begin ${' '.repeat(10_000)} end`).summary;
  expect(long.length).toBeLessThan(4_100);
  expect(long).toMatch(/^begin .*\(6010 characters not shown\).* end$/);
});

test('a question is one line of bounded length, whatever a model writes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 6_000 }), (text) => {
      const { summary } = needOf(text);
      expect(summary.length).toBeLessThan(4_100);
      expect(summary).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
    }),
  );
});

test('a long key becomes a short one, still one for each question', () => {
  expect(needOf('s', 'short').key).toBe('short');
  const [a, b] = [needOf('s', `${'x'.repeat(10_000)}a`).key, needOf('s', `${'x'.repeat(10_000)}b`).key];
  expect(a).not.toBe(b);
  expect(a.length).toBeLessThan(100);
});
