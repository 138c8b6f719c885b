import { expect, test } from 'vitest';
import { agentSettingsSchema, DIALECTS, threadsProblem, withDialectLimits } from '../../protocol/index.ts';

const settings = { model: 'm', provider: 'p', working_directory: '/' };

test('a session that a program starts has what its dialect presumes, where nothing else is said', () => {
  const limitsOf = (dialect: (typeof DIALECTS)[number], limits = {}) => {
    const { max_depth, max_threads } = agentSettingsSchema.parse(
      withDialectLimits({ ...settings, dialect, limits }),
    ).limits;
    return [max_depth, max_threads];
  };
  expect(DIALECTS.map((dialect) => limitsOf(dialect))).toEqual([
    [3, 12],
    [1, 12],
    [3, 10],
    [1, 12],
  ]);
  expect(limitsOf('sessions', { max_threads: 15 })).toEqual([3, 15]);
  expect(agentSettingsSchema.parse(withDialectLimits(settings)).limits.max_threads).toBe(12);
});

test('sessions have a ceiling, the others that of all', () => {
  expect(threadsProblem('sessions', 20)).toBeUndefined();
  expect(threadsProblem('sessions', 21)).toContain('20 at most');
  expect(threadsProblem('collab', 200)).toBeUndefined();
});
