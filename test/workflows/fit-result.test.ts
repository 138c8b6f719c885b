import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fitted } from '../../workflows/fit-result.ts';

const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const id = (n: number) => `a0k3v9x2m4qd7/worker-${n}`;
const statusOf = (texts: string[]) =>
  Object.fromEntries(texts.map((text, n) => [id(n + 1), { completed: text }]));

describe('a result that is made to fit', () => {
  test('stays as it is where it fits', () => {
    const result = { status: statusOf(['x'.repeat(500), 'y']), timed_out: false };
    expect(fitted(result, 10_000)).toEqual(result);
  });

  test('gives the long texts what the short ones leave', () => {
    const { status } = fitted({ status: statusOf(['short', 'x'.repeat(9_000), 'y'.repeat(90_000)]) }, 4_000);
    const [short, x, y] = Object.values(status).map(({ completed }) => completed);
    expect(short).toBe('short');
    expect(Math.abs((x?.length ?? 0) - (y?.length ?? 0))).toBeLessThan(10);
    expect(bytes({ status })).toBeGreaterThan(3_800);
  });

  test('keeps ids whole, and says how many of a list it leaves out', () => {
    const long = `${id(1)}${'/worker-1'.repeat(30)}`;
    const agents = Array.from({ length: 100 }, () => ({ thread_id: long, status: 'running' }));
    const short = fitted({ agents, slots: { used: 1, max: 2 } }, 4_000) as {
      agents: object[];
      left_out?: string;
    };
    expect(short.agents[0]).toEqual({ thread_id: long, status: 'running' });
    expect(short.agents.length).toBeGreaterThan(5);
    expect(short.left_out).toBe(`${100 - short.agents.length} of 100 agents`);
    expect(bytes(short)).toBeLessThanOrEqual(4_000);
  });

  test('is bounded also where there is no list, only very many entries', () => {
    const status = statusOf(Array.from({ length: 10_000 }, () => 'x'.repeat(200)));
    const short = fitted({ status, timed_out: false }, 40_000) as { status: object; left_out?: string };
    expect(bytes(short)).toBeLessThanOrEqual(1_000_000);
    const left = Object.keys(short.status).length;
    expect(left).toBeGreaterThan(100);
    expect(short.left_out).toBe(`${10_000 - left} of 10000 status`);
  });

  test('fits, whatever the texts are, as long as each can have 180 bytes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary', maxLength: 1_500, size: 'max' }), { maxLength: 20 }),
        fc.integer({ min: 20 * 240, max: 20_000 }),
        (texts, most) => {
          const result = { status: statusOf(texts), timed_out: false };
          const short = fitted(result, most);
          expect(bytes(short)).toBeLessThanOrEqual(most);
          expect(Object.keys(short.status)).toEqual(Object.keys(result.status));
        },
      ),
    );
  });
});
