import fc from 'fast-check';
import { expect, test } from 'vitest';
import { offeredNames, serverOf } from '../../../activities/mcp/tool-names.ts';

test('a tool is called by its server and itself', () => {
  expect(offeredNames('files', ['read_file', 'get-sum']).get('get-sum')).toBe('mcp__files__get-sum');
  expect(serverOf('mcp__files__read_file')).toBe('files');
  expect(serverOf('mcp__my_files__a__b')).toBe('my_files');
  for (const other of ['shell', 'mcp__', 'mcp__files', 'mcp__files__'])
    expect(serverOf(other)).toBeUndefined();
});

test('one that would be called as another is keeps a name of its own, whatever comes first', () => {
  const names = offeredNames('s', ['a.b', 'a_b', 'a b']);
  expect(names.get('a_b')).toBe('mcp__s__a_b');
  expect(names.get('a.b')).toMatch(/^mcp__s__a_b_[0-9a-f]{8}$/);
  expect(new Set(names.values()).size).toBe(3);
  expect(offeredNames('s', ['a b', 'a_b', 'a.b'])).toEqual(new Map([...names].reverse()));
});

test('names are such as providers take, and no two are the same', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ minLength: 1, maxLength: 120 }), { maxLength: 30 }), (tools) => {
      const names = [...offeredNames('my-server', tools).values()];
      for (const name of names) expect(name).toMatch(/^mcp__my-server__[A-Za-z0-9_-]{1,47}$/);
      expect(new Set(names).size).toBe(tools.length);
    }),
  );
});
