import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const repository = new URL('../../', import.meta.url);
const text = readFileSync(new URL('docs/coverage.md', repository), 'utf8');

const SYSTEMS = [
  'Child threads',
  'Collaboration tools',
  'Named agents',
  'Agent sessions',
  'Mailbox sub-agents',
];
const STATE = /^works\b/;
const PATH = /`([\w.-]+(?:\/[\w.-]*)+|[\w-]+\.(?:json|md|ts))`/g;
/** Stands where a test is still to be named. */
const TO_NAME = 'TODO-TEST';

interface Row {
  promise: string;
  state: string;
  where: string;
}

/** The rows of every table; a bar inside a cell would make one too many. */
const rows: Row[] = text
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\|( promise | ---)/.test(line))
  .map((line) => {
    const cells = line.split('|').slice(1, -1);
    expect(cells, line).toHaveLength(3);
    const [promise = '', state = '', where = ''] = cells.map((cell) => cell.trim());
    return { promise, state, where };
  });

const pathsIn = (where: string): string[] => [...where.matchAll(PATH)].map(([, path = '']) => path);

test('each of the five systems has its part', () => {
  expect([...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual(SYSTEMS);
  expect(rows.length).toBeGreaterThan(200);
});

test('no promise stands there twice in a system', () => {
  const titles = text.split(/^## /m).flatMap((part) => {
    const promises = part.split('\n').filter((line) => line.startsWith('| '));
    return promises.map((line) => `${part.split('\n')[0]}: ${line.split('|')[1]?.trim()}`);
  });
  const promises = titles.filter((title) => !title.endsWith(': promise') && !title.endsWith(': ---'));
  expect(promises.filter((title, index) => promises.indexOf(title) !== index)).toEqual([]);
});

test('every row has a state, with a reason or a place where the promise is not simply kept', () => {
  const faulty = rows.filter(({ state }) => {
    if (state.startsWith('changed')) return !/^changed[^:]*: \S/.test(state);
    return !(state.startsWith('open') ? /^open: \S/ : STATE).test(state);
  });
  expect(faulty).toEqual([]);
});

test('every file and test that is named is there', () => {
  const missing = rows.flatMap(({ where }) =>
    pathsIn(where).filter((path) => !existsSync(fileURLToPath(new URL(path, repository)))),
  );
  expect(missing).toEqual([]);
});

test('what works names the file that does it and the test that shows it', () => {
  const faulty = rows.filter(({ state, where }) => {
    const paths = pathsIn(where);
    const isShown = where.includes(TO_NAME) || paths.some((path) => path.startsWith('test/'));
    const isDone = paths.some((path) => !path.startsWith('test/'));
    return state.startsWith('works') && !(isShown && isDone);
  });
  expect(faulty).toEqual([]);
});
