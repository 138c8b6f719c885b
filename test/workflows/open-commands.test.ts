import { expect, test } from 'vitest';
import { OpenCommands } from '../../workflows/open-commands.ts';

test('a command is known by what it was started with, until it has ended or its worker is gone', () => {
  const commands = new OpenCommands();
  commands.heard({ id: 7, open: true, queue: 'Q.commands/a' }, 'npm run dev');
  commands.heard({ id: 8, open: true }, 'python3');
  commands.heard({ id: 7, open: true, queue: 'Q.commands/a' }, '7 "x"');
  expect(commands.all.map(({ title }) => title)).toEqual(['npm run dev', 'python3']);
  expect(commands.queueOf(7)).toBe('Q.commands/a');
  expect(commands.queueOf(8)).toBeUndefined();
  expect(commands.queues).toEqual(['Q.commands/a', undefined]);
  commands.heard({ id: 8, open: false }, '');
  commands.lost(7);
  expect(commands.isEmpty).toBe(true);
});

test('it goes on in a new run with what it knew', () => {
  const before = new OpenCommands();
  before.heard({ id: 7, open: true, queue: 'Q.commands/a' }, 'npm run dev');
  const after = new OpenCommands(JSON.parse(JSON.stringify(before.carry)));
  expect(after.queueOf(7)).toBe('Q.commands/a');
  expect(after.all).toEqual(before.all);
});

test('what it carries is bounded, whatever is started', () => {
  const commands = new OpenCommands();
  for (let id = 1; id <= 1_000; id++) commands.heard({ id, open: true, queue: 'q' }, 'x'.repeat(10_000));
  expect(JSON.stringify(commands.carry).length).toBeLessThan(12_000);
  expect(commands.queueOf(1_000)).toBe('q');
});
