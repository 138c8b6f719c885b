import { expect, test } from 'vitest';
import { hostQueue, modelQueue, workerCommand } from '../../protocol/index.ts';

test('a host has a queue beside that of its workers, and the command that serves it names both', () => {
  expect(hostQueue('agents', 'build-1.example.com')).toBe('agents@build-1.example.com');
  expect(workerCommand('agents@build-1.example.com')).toBe(
    'cadre worker --queue agents --host build-1.example.com',
  );
});

test.each(['', ' ', 'a b', 'a@b', 'a/b', '-a', 'a-', '.a', 'ä', 'a'.repeat(254)])(
  '%j is no name of a host',
  (host) => {
    expect(() => hostQueue('agents', host)).toThrow(/is no name of a host/);
  },
);

test('the queue of a host has no hosts of its own', () => {
  expect(() => hostQueue('agents@one', 'two')).toThrow(
    'The queue agents@one is that of the host one already.',
  );
});

test('a queue with an @ that names no host is one like any other', () => {
  for (const queue of ['agents@', '@one', 'agents@a b']) {
    expect(workerCommand(queue)).toBe(`cadre worker --queue ${queue}`);
    expect(hostQueue(queue, 'two')).toBe(`${queue}@two`);
  }
});

test('the model calls to a provider share one queue, wherever their sessions live', () => {
  expect(modelQueue('agents', 'openai')).toBe('agents.models/openai');
  expect(modelQueue(hostQueue('agents', 'one'), 'openai')).toBe('agents.models/openai');
  expect(workerCommand(modelQueue('agents', 'openai'))).toBe('cadre worker --queue agents --models openai');
});

test('an unserved queue that goes with no other waits for a worker of its name', () => {
  expect(workerCommand('agents')).toBe('cadre worker --queue agents');
});
