import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { type DutyOptions, dutiesOf } from '../../cli/worker-duties.ts';

const duties = (options: Partial<DutyOptions>, queue?: string) =>
  dutiesOf({ agents: true, ...options }, queue);

test('--host without a name means this machine', () => {
  expect(duties({ host: true }, 'q')).toEqual({ host: hostname(), agents: true });
  expect(duties({ host: 'one' }, 'q')).toEqual({ host: 'one', agents: true });
});

test('--models and --rate say which calls it makes, and how many; --no-agents that it makes nothing else', () => {
  const options = { models: ['openai', 'local', 'openai'], rate: 0.5, agents: false };
  expect(duties(options, 'q')).toEqual({
    models: { providers: ['openai', 'local'], perSecond: 0.5 },
    agents: false,
  });
});

test.each([
  [{ host: 'one' }, undefined, /--queue/],
  [{ models: ['openai'] }, undefined, /--queue/],
  [{ rate: 5 }, 'q', /--models/],
  [{ agents: false }, 'q', /--models/],
  [{ host: 'one', models: ['openai'], agents: false }, 'q', /do not go together/],
  [{ host: 'no name' }, 'q', /is no name of a host/],
  [{ host: 'two' }, 'q@one', /is that of the host one already/],
] as const)('%j for the queue %s is refused', (options, queue, message) => {
  expect(() => dutiesOf({ agents: true, ...options } as DutyOptions, queue)).toThrow(message);
});
