import { expect, test } from 'vitest';
import { onSignals, type SignalWish } from '../../../cli/follow/signals.ts';

test('the first Ctrl-C interrupts, the second leaves, and so does a terminal that goes; other signals quit', () => {
  const wishes: SignalWish[] = [];
  const before = process.listenerCount('SIGINT');
  const undo = onSignals((wish) => wishes.push(wish));
  for (const signal of ['SIGINT', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.emit(signal);
  undo();
  expect(wishes).toEqual(['interrupt', 'leave', 'quit', 'leave']);
  expect(process.listenerCount('SIGINT')).toBe(before);
});
