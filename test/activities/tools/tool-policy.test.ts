import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allowedTools, deniedTools } from '../../../activities/roles/tool-names.ts';
import { isAllowed, keepsReadOnly, SHELL_FAMILY } from '../../../activities/tools/tool-policy.ts';

const NAMES = [
  ...SHELL_FAMILY,
  'read_file',
  'list_dir',
  'grep_files',
  'spawn_agent',
  'wait',
  'mcp__fs__read',
  'mcp__fs__write',
];
const name = fc.constantFrom(...NAMES);
const pattern = fc.oneof(
  name,
  fc.constantFrom('*', 'mcp__*', 'mcp__fs__*', 'sh*', '*_file', 'exec_*', 'nothing', 'w?it'),
);
const list = fc.array(pattern, { maxLength: 4 });
const policy = fc.record({ allow: fc.array(list, { maxLength: 3 }), deny: list });

const allowed = (of: Parameters<typeof isAllowed>[1]) => NAMES.filter((tool) => isAllowed(tool, of));

test('what denies or allows a part of the shell means all of it, in the words of Claude Code, too', () => {
  for (const name of [
    'Bash',
    'BashOutput',
    'KillShell',
    'KillBash',
    'write_stdin',
    'exec_command',
    'local_shell',
  ]) {
    const left = allowed({ allow: [], deny: deniedTools([name], Error).names });
    expect(left, name).toEqual(NAMES.filter((tool) => !SHELL_FAMILY.includes(tool)));
  }
  expect(allowed({ allow: [allowedTools(['Bash']).names], deny: [] })).toEqual(SHELL_FAMILY);
  expect(allowed({ allow: [allowedTools(['BashOutput']).names], deny: [] })).toEqual([]);
  for (const name of SHELL_FAMILY) expect(keepsReadOnly({ name, effects: 'some' }, true)).toBe(true);
});

test('without lists everything is allowed, with an empty list nothing', () => {
  expect(allowed({ allow: [], deny: [] })).toEqual(NAMES);
  expect(allowed({ allow: [[]], deny: [] })).toEqual([]);
});

test('every list has to name the tool, and deny wins', () => {
  expect(
    allowed({
      allow: [
        ['read_file', 'list_dir'],
        ['list_dir', 'wait'],
      ],
      deny: [],
    }),
  ).toEqual(['list_dir']);
  expect(allowed({ allow: [['*']], deny: ['mcp__*', '*_file*', 'shell'] })).toEqual([
    'list_dir',
    'spawn_agent',
    'wait',
  ]);
});

describe('whatever the lists', () => {
  test('another allow list or a denial never widens', () => {
    fc.assert(
      fc.property(policy, list, list, (of, more, denied) => {
        const narrower = { allow: [...of.allow, more], deny: [...of.deny, ...denied] };
        const before = new Set(allowed(of));
        expect(allowed(narrower).every((tool) => before.has(tool))).toBe(true);
      }),
    );
  });

  test('the shell family stands and falls together', () => {
    fc.assert(
      fc.property(policy, (of) => {
        const family = SHELL_FAMILY.filter((tool) => isAllowed(tool, of));
        expect([0, SHELL_FAMILY.length]).toContain(family.length);
      }),
    );
  });

  test('a denied name is never allowed', () => {
    fc.assert(
      fc.property(policy, name, (of, denied) => {
        expect(isAllowed(denied, { ...of, deny: [...of.deny, denied] })).toBe(false);
      }),
    );
  });
});

test.each([
  ['a*b', 'ab', true],
  ['a*b', 'axxb', true],
  ['a*b', 'axxbc', false],
  ['?', '', false],
  ['*', '', true],
  ['a.c', 'abc', false],
  ['[ab]', 'a', false],
  ['**', 'x', true],
  ['*a*a*a*a*a*a*a*a*b', 'a'.repeat(5_000), false],
])('the pattern %s and the name %s', (glob, text, expected) => {
  expect(isAllowed(text, { allow: [[glob]], deny: [] })).toBe(expected);
});
