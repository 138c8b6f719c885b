import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AgentId,
  agentIdSchema,
  childId,
  depthOf,
  isAgentId,
  isBelow,
  isChildName,
  nameOf,
  newRootId,
  parentOf,
  resolveReference,
  type SessionId,
  sessionOf,
} from '../../protocol/index.ts';

const ROOT = 'a0k3v9x2m4qd7' as SessionId;
const id = (path: string) => `${ROOT}/${path}` as AgentId;

const segments = fc.stringMatching(/^[a-z][a-z0-9._-]{0,8}$/);
const paths = fc.array(segments, { minLength: 1, maxLength: 4 });

describe('ids', () => {
  test('a new root id has the documented form', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4_102_444_800_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (now, chance) => {
          const root = newRootId(now, () => chance);
          expect(root).toMatch(/^a[0-9a-hjkmnp-tv-z]{12}$/);
          expect(isAgentId(root)).toBe(true);
        },
      ),
    );
  });

  test('root ids sort by the time at which they were made', () => {
    const times = fc.integer({ min: 0, max: 4_102_444_800_000 });
    fc.assert(
      fc.property(times, times, (one, other) => {
        fc.pre(one < other);
        expect(newRootId(one, () => 0.99) < newRootId(other, () => 0)).toBe(true);
      }),
    );
  });

  test('the id of a child tells its parent, session, depth and name', () => {
    fc.assert(
      fc.property(paths, (path) => {
        let agent: AgentId = ROOT;
        for (const [index, segment] of path.entries()) {
          const child = childId(agent, segment);
          expect(isAgentId(child)).toBe(true);
          expect(parentOf(child)).toBe(agent);
          expect(sessionOf(child)).toBe(ROOT);
          expect(depthOf(child)).toBe(index + 1);
          expect(nameOf(child)).toBe(segment);
          expect(isBelow(child, ROOT)).toBe(true);
          expect(isBelow(agent, child)).toBe(false);
          agent = child;
        }
      }),
    );
  });

  test('a root has no parent and is below nobody, not even itself', () => {
    expect(parentOf(ROOT)).toBeUndefined();
    expect(depthOf(ROOT)).toBe(0);
    expect(isBelow(ROOT, ROOT)).toBe(false);
  });

  test('an agent whose id begins like another one is not below it', () => {
    expect(isBelow(id('worker-10'), id('worker-1'))).toBe(false);
    expect(isBelow(id('worker-1/x-1'), id('worker-1'))).toBe(true);
  });

  test.each([
    '',
    'a0k3v9x2m4qd',
    'a0k3v9x2m4qd7x',
    'b0k3v9x2m4qd7',
    'a0k3v9x2m4qi7',
    'A0K3V9X2M4QD7',
    'a0k3v9x2m4qd7/',
    'a0k3v9x2m4qd7//worker-1',
    'a0k3v9x2m4qd7/-worker',
    'a0k3v9x2m4qd7/two words',
    'worker-1',
    `a0k3v9x2m4qd7/${'x'.repeat(65)}`,
  ])('"%s" is no agent id', (text) => {
    expect(isAgentId(text)).toBe(false);
    expect(agentIdSchema.safeParse(text).success).toBe(false);
  });

  test('the schema of ids takes only text', () => {
    expect(agentIdSchema.safeParse(ROOT).success).toBe(true);
    for (const value of [undefined, null, 7, {}, [ROOT]]) {
      expect(agentIdSchema.safeParse(value).success).toBe(false);
    }
  });

  test('a name for a child is one segment of an id', () => {
    expect(isChildName('reviewer_2.a-b')).toBe(true);
    for (const name of ['', 'a/b', ' a', 'a b', '.a', 'ä', 'x'.repeat(65)]) {
      expect(isChildName(name)).toBe(false);
    }
  });
});

describe('a reference inside a session', () => {
  const known = [
    ROOT,
    id('explorer-1'),
    id('explorer-1/worker-1'),
    id('worker-1'),
    id('explorer-1/worker-2'),
  ];

  test('may be the full id', () => {
    expect(resolveReference(id('worker-1'), ROOT, known)).toEqual({ id: id('worker-1') });
    expect(resolveReference(ROOT, ROOT, known)).toEqual({ id: ROOT });
  });

  test('may be the part after the id of the root', () => {
    expect(resolveReference('explorer-1/worker-2', ROOT, known)).toEqual({ id: id('explorer-1/worker-2') });
  });

  test('may be a name that only one agent bears', () => {
    expect(resolveReference('worker-2', ROOT, known)).toEqual({ id: id('explorer-1/worker-2') });
  });

  test('means the agent directly below the root where deeper ones bear the same name', () => {
    expect(resolveReference('worker-1', ROOT, known)).toEqual({ id: id('worker-1') });
  });

  test('lists the candidates where several agents bear the name', () => {
    const two = [id('a/worker-1'), id('b/worker-1'), id('c')];
    expect(resolveReference('worker-1', ROOT, two)).toEqual({
      candidates: [id('a/worker-1'), id('b/worker-1')],
    });
  });

  test('finds nobody of another session', () => {
    const other = 'a0k3v9x2m4qd8/worker-1' as AgentId;
    expect(resolveReference(other, ROOT, [...known, other])).toEqual({ candidates: [] });
  });

  test('finds nobody for an unknown id, path or name', () => {
    for (const reference of [id('worker-9'), 'worker-9', 'explorer-1/worker-9', '', '/', 'worker']) {
      expect(resolveReference(reference, ROOT, known)).toEqual({ candidates: [] });
    }
  });

  test('leads to an agent that is known, or to candidates that all bear the name', () => {
    const trees = fc.uniqueArray(
      paths.map((path) => path.join('/')),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(
        trees,
        fc.oneof(
          segments,
          paths.map((path) => path.join('/')),
        ),
        (tree, reference) => {
          const ids = tree.map(id);
          const resolved = resolveReference(reference, ROOT, ids);
          if ('id' in resolved) {
            expect(ids).toContain(resolved.id);
            expect(resolved.id.endsWith(`/${reference}`)).toBe(true);
            return;
          }
          expect(resolved.candidates).not.toHaveLength(1);
          for (const candidate of resolved.candidates) expect(nameOf(candidate)).toBe(reference);
          const bearers = ids.filter((agent) => nameOf(agent) === reference);
          expect(resolved.candidates).toEqual(bearers);
        },
      ),
    );
  });

  test('finds every known agent by its full id and by its path', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(
          paths.map((path) => path.join('/')),
          { minLength: 1 },
        ),
        (tree) => {
          const ids = tree.map(id);
          for (const path of tree) {
            expect(resolveReference(path, ROOT, ids)).toEqual({ id: id(path) });
            expect(resolveReference(id(path), ROOT, ids)).toEqual({ id: id(path) });
          }
        },
      ),
    );
  });
});

test('an id that Temporal would not take for a workflow is none', () => {
  const id = `a0k3v9x2m4qd7${'/x'.repeat(493)}`;
  expect(id.length).toBe(999);
  expect(isAgentId(id)).toBe(true);
  expect(isAgentId(`${id}/x`)).toBe(false);
});
