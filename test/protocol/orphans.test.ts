import { expect, test } from 'vitest';
import { type AgentId, missingAbove, orphansOf, topmost } from '../../protocol/index.ts';

const ids = (...names: string[]) => names as AgentId[];
const RUNNING = ids('a', 'a/b', 'a/b/c/d', 'x/y', 'x/y/z', 'xx');

test('whoever stands above a running agent and is not among them is missing, each once', () => {
  expect(missingAbove(RUNNING)).toEqual(['a/b/c', 'x']);
  expect(missingAbove([])).toEqual([]);
});

test('orphans are those below one that has ended; a name that only begins alike is not below it', () => {
  expect(orphansOf(RUNNING, ids('x', 'a/b/c'))).toEqual(['a/b/c/d', 'x/y', 'x/y/z']);
  expect(orphansOf(RUNNING, [])).toEqual([]);
});

test('the topmost have none of the others above them', () => {
  expect(topmost(ids('x/y/z', 'x/y', 'a/b/c/d'))).toEqual(['x/y', 'a/b/c/d']);
});
