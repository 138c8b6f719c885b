import { expect, test } from 'vitest';
import { OPERATIONS_MAX, Outcomes } from '../../workflows/outcomes.ts';

test('what is under way is not forgotten, however many operations come after it', () => {
  const outcomes = new Outcomes();
  outcomes.begin('long');
  for (let n = 0; n < 200; n++) {
    outcomes.begin(`${n}`);
    outcomes.end(`${n}`, true, 'done');
  }
  expect(outcomes.has('long')).toBe(true);
  expect(outcomes.carry).toHaveLength(100);
  expect(outcomes.outcome('0')).toEqual({ state: 'unknown' });
  outcomes.end('long', true, 'at last');
  expect(outcomes.outcome('long')).toEqual({ state: 'done', success: true, output: 'at last' });
});

test('no more texts are kept than fit into a new run, the newest ones, and one that is larger alone', () => {
  const outcomes = new Outcomes();
  for (let n = 0; n < 20; n++) {
    outcomes.begin(`${n}`);
    outcomes.end(`${n}`, true, 'x'.repeat(50_000));
  }
  expect(outcomes.outcome('0')).toEqual({ state: 'unknown' });
  expect(outcomes.outcome('18')).toMatchObject({ state: 'done' });
  expect(outcomes.bytes).toBe(200_000);
  outcomes.begin('large');
  outcomes.end('large', true, 'x'.repeat(500_000));
  expect(outcomes.outcome('18')).toEqual({ state: 'unknown' });
  expect(outcomes.outcome('large')).toMatchObject({ state: 'done', success: true });
});

test('what nobody works on any more is unknown', () => {
  const outcomes = new Outcomes();
  outcomes.begin('1');
  outcomes.giveUp();
  expect(outcomes.outcome('1')).toMatchObject({
    state: 'done',
    success: false,
    output: expect.stringContaining('unknown'),
  });
});

test('so many may be under way, and no more until one has ended', () => {
  const outcomes = new Outcomes();
  for (let n = 0; n < OPERATIONS_MAX; n++) {
    expect(outcomes.isFull).toBe(false);
    outcomes.begin(`o${n}`);
  }
  expect(outcomes.isFull).toBe(true);
  outcomes.end('o7', true, 'done');
  expect(outcomes.isFull).toBe(false);
});
