import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const repository = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, repository), 'utf8');

/** The files that a fault is shown by, each with the test that is named behind it, if one is. */
const shown = read('docs/faults.md')
  .split('\n')
  .filter((line) => line.startsWith('| ') && line.includes('`test/'))
  .flatMap((line) => [
    ...(line.split(' | ')[1] ?? '').matchAll(/`(test\/[^`]+)`(?:: ([^;|]+?))?(?=[;,] `| \|?$|$)/g),
  ])
  .map(([, path = '', name = '']) => ({ path, name: name.replace(/ \|$/, '').trim() }));

test('every fault names tests, and there are many', () => {
  expect(shown.length).toBeGreaterThan(14);
});

test.each(shown.filter(({ name }) => name !== ''))('$path has a test called "$name"', ({ path, name }) => {
  expect(read(path)).toContain(name);
});

test.each(shown)('$path is there', ({ path }) => {
  expect(read(path)).toContain('test');
});
