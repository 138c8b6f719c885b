import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isAllowedByRules, parseRule, ruleFor } from '../../../activities/policy/approval-rules.ts';
import { decideCommand } from '../../../activities/policy/command-policy.ts';
import type { SandboxState } from '../../../activities/sandbox/detect-sandbox.ts';
import type { ApprovalRule, SandboxMode } from '../../../protocol/index.ts';
import { folderWith } from '../../support/folders.ts';

const cwd = '/usr';
const allows = (
  rules: (string | ApprovalRule)[],
  command: string | string[],
  where: { cwd?: string; mode?: SandboxMode; contained?: boolean } = {},
) =>
  isAllowedByRules(
    { command, cwd, mode: 'workspace-write', contained: true, ...where },
    rules.map((rule) => (typeof rule === 'string' ? { command: rule } : rule)),
  );

describe('a rule allows', () => {
  test.each([
    ['npm test', 'npm test'],
    ['npm test', "  npm   'test' "],
    ['npm test', ['npm', 'test']],
    ['npm test', ['bash', '-lc', 'npm test']],
    ['git commit *', 'git commit -m "what it does; and why"'],
    ['git commit *', ['git', 'commit', '--amend']],
    ["make '*'", "make '*'"],
    // What only reads needs no rule inside the sandbox.
    ['npm test', 'npm test | tail -5 && git status'],
  ])('%s: %j', (rule, command) => {
    expect(allows([rule], command)).toBe(true);
  });

  test.each([
    ['npm test', 'npm'],
    ['npm test', 'npm test --watch'],
    ['npm test', 'npm tests'],
    ['npm test', 'npm test && rm -rf build'],
    ['npm test', 'npm test; rm x'],
    ['npm test', 'npm test | sh'],
    ['npm test', 'npm test &'],
    ['npm test', 'npm test > out'],
    ['npm test', 'npm test < in'],
    ['npm test', 'npm test $(rm x)'],
    ['npm test', 'npm test `rm x`'],
    ['npm test', 'npm "test$X"'],
    ['npm test', 'NODE_OPTIONS=--require=./x npm test'],
    ['npm test', 'env npm test'],
    ['npm test', '! npm test'],
    ['npm test', 'time npm test'],
    ['npm test', './npm test'],
    ['npm test', 'npm test\nrm x'],
    // A part of a word to a shell, whatever looks blank.
    ['npm test', '\u00a0npm test'],
    ['npm test', 'npm test\r'],
    ['npm test', ['\u00a0npm', 'test']],
    ['npm test', ['sh', '-c', 'npm test; rm x']],
    ['npm test', ['npm test']],
    ['git commit *', 'git commit'],
    ['git commit *', 'git commit -m "$(cat /etc/passwd)"'],
    ['git commit *', 'git commit -m x && git push'],
    ['git commit *', 'git -C / commit -m x'],
    ["make '*'", 'make x'],
  ])('%s, and not %j', (rule, command) => {
    expect(allows([rule], command)).toBe(false);
  });

  test('a line of which each command is allowed', () => {
    expect(allows(['npm ci', 'npm test'], 'npm ci && npm test')).toBe(true);
    expect(allows(['npm ci'], 'npm ci && npm test')).toBe(false);
  });
});

test.each([
  ['*', 'it would allow every command'],
  ['', 'a command is missing'],
  [' *', 'it would allow every command'],
  ["'' x", 'it names no program'],
  ['npm * test', 'it contains a glob (*)'],
  ['npm te*', 'it contains a glob (*)'],
  ['npm ci && npm test', 'it is more than one command'],
  ['npm $X', 'it contains an expansion ($)'],
  ['A=1 npm test', 'it sets a variable, which no rule may'],
  ['npm test > x', 'it contains a redirection (>)'],
  ['~/bin/x', 'it contains a tilde (~)'],
  ['npm\u00a0*', 'it contains an unusual blank'],
  ['\u00a0npm', 'it contains an unusual blank'],
])('%j is no rule: %s', (text, reason) => {
  expect(parseRule(text)).toEqual({ ok: false, reason });
});

test('nothing leaves the sandbox by a rule that does not say so, and nobody who only reads by one that does not say that', () => {
  const modes: SandboxMode[] = ['read-only', 'workspace-write', 'danger-full-access'];
  const held = (rule: ApprovalRule, contained: boolean) =>
    modes.filter((mode) => allows([rule], 'make', { mode, contained }));
  const command = 'make';
  expect(held({ command }, false)).toEqual([]);
  expect(held({ command }, true)).toEqual(modes);
  expect(held({ command, outside_sandbox: true }, false)).toEqual(['workspace-write', 'danger-full-access']);
  for (const mode of modes) {
    expect(held({ command, sandbox_mode: mode }, true)).toEqual([mode]);
    expect(held({ command, sandbox_mode: mode, outside_sandbox: true }, false)).toEqual([mode]);
  }
  // Outside of it also what only reads has to be allowed: it may follow something that changes what it means.
  const make: ApprovalRule = { command, outside_sandbox: true };
  expect(allows([make], 'make | tail', { contained: false })).toBe(false);
  expect(
    allows([make, { command: 'tail', outside_sandbox: true }], 'make | tail', { contained: false }),
  ).toBe(true);
});

test('a shell that runs files of its own first is none that a rule looks through, outside the sandbox', () => {
  const rule: ApprovalRule = { command: 'make', outside_sandbox: true };
  const outside = (command: string[]) => allows([rule], command, { contained: false });
  expect(outside(['bash', '-c', 'make'])).toBe(true);
  expect(outside(['bash', '-lc', 'make'])).toBe(false);
  expect(outside(['zsh', '-c', 'make'])).toBe(false);
  expect(allows([rule], ['bash', '-lc', 'make'])).toBe(true);
  const own: ApprovalRule = { command: "bash -lc 'make'", outside_sandbox: true };
  expect(allows([own], ['bash', '-lc', 'make'], { contained: false })).toBe(true);
});

test('a rule of a folder holds in that very folder, by whatever name it is reached', () => {
  const root = folderWith({ 'a/in/keep': '', 'b/keep': '' });
  symlinkSync(join(root, 'a'), join(root, 'link'));
  const rule = { command: 'make', folder: join(root, 'a') };
  const where = ['a', 'link', 'a/in', 'b', 'gone'].filter((name) =>
    allows([rule], 'make', { cwd: join(root, name) }),
  );
  expect(where).toEqual(['a', 'link']);
});

test('the rule for a command allows just that command, in that folder, mode and sandbox', () => {
  const words = fc.array(
    fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('*', "it's", 'a b', '$x', '--f=1')),
    {
      minLength: 1,
      maxLength: 5,
    },
  );
  fc.assert(
    fc.property(words, fc.constantFrom(true, false), (argv, contained) => {
      const asked = { command: ['make', ...argv], cwd, mode: 'workspace-write' as const, contained };
      const rule = ruleFor(asked);
      if (rule === undefined)
        return argv.some((word) => word.includes('\0')) || JSON.stringify(argv).length > 900;
      expect(isAllowedByRules(asked, [rule])).toBe(true);
      for (const other of [
        { ...asked, command: ['make', ...argv, 'more'] },
        { ...asked, mode: 'read-only' as const },
        { ...asked, cwd: '/' },
      ]) {
        expect(isAllowedByRules(other, [rule])).toBe(false);
      }
      // Allowed outside, it is allowed inside, too, and not the other way round.
      return isAllowedByRules({ ...asked, contained: !contained }, [rule]) === !contained;
    }),
  );
});

test.each([
  ['a line of several', 'make && rm x'],
  ['what a shell expands', 'make $X'],
  ['a redirection', 'make > x'],
  ['a variable', 'A=1 make'],
  ['what cannot be seen', ['make', 'a\u00a0b']],
  ['what is too long to be read', `make ${'x'.repeat(2_000)}`],
])('there is no rule for %s', (_, command) => {
  expect(ruleFor({ command, cwd, mode: 'workspace-write', contained: true })).toBeUndefined();
});

test('what stands beside a command and only reads is left out of its rule', () => {
  const asked = { command: 'npm test 2 | tail -5', cwd, mode: 'workspace-write' as const };
  expect(ruleFor({ ...asked, contained: true })?.command).toBe('npm test 2');
  expect(ruleFor({ ...asked, contained: false })).toBeUndefined();
});

test.each([
  ['untrusted', true, 'sandboxed'],
  ['untrusted', false, 'unapproved'],
  ['on-request', false, 'unapproved'],
  ['never', false, 'unapproved'],
] as const)(
  'under %s, with a sandbox: %s, a rule that says nothing of it has a command run %s',
  (policy, works, run) => {
    const sandbox: SandboxState = works
      ? {
          works,
          contain: async ({ argv }) => ({ argv: [...argv], hasNamespace: false, release: async () => [] }),
          version: '1',
        }
      : { works, reason: 'none', hint: 'install' };
    const settings = { sandbox_mode: 'workspace-write', approval_policy: policy } as const;
    const decide = (rule: ApprovalRule) =>
      decideCommand({ command: 'make', cwd, approved: false, rules: [rule] }, settings, sandbox).run;
    expect(decide({ command: 'make' })).toBe(run);
    expect(decide({ command: 'make', outside_sandbox: true })).toBe(works ? 'sandboxed' : 'free');
    expect(decide({ command: 'other', outside_sandbox: true })).toBe('unapproved');
  },
);
