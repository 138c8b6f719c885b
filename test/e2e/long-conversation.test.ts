import { loadavg } from 'node:os';
import { expect, test } from 'vitest';
import { type LongFigures, longConversation, median } from './long-conversation.ts';

/** At full length 1,000; these few steps show that it works. */
const STEPS = Number(process.env.CADRE_LONG_STEPS ?? 30);
/** Each of these replays an agent many times: at 150 steps it takes 10 s of CPU. */
const COLD_STEPS = Number(process.env.CADRE_LONG_COLD_STEPS ?? 12);
const MARKS = [10, 25, 100, 400, 1_000];
const KIND = process.env.CADRE_LONG_KIND === 'random' ? 'random' : 'source';
/** Bytes of history a step that are wanted: for outputs like source code, and 2.2 times the content of random ones. */
const WANTED = { source: 8_192, random: 2.2 * 8_000 };
/** The same ± 10 %, as the steps go on. */
const FLAT = 1.1;
/**
 * Resident memory at the end over that of the second quarter. What a collector of garbage leaves for later makes it
 * coarse: it finds what the threads of workflows and of the SDK's core keep, if that is much.
 */
const GROWTH = { factor: 1.25, megabytes: 60 };
/**
 * What the main thread holds when all garbage is collected: so much more a step, and by a little once. Measured with
 * outputs of 8 KB: 52 KB a step, of which V8 leaves about 15 where it collects all that it can, as for a heap snapshot.
 * Whatever keeps the whole of a long conversation for each step is above it soon.
 */
const HELD = { kilobytesAStep: 70, once: 3_000 };

function expectFlat(name: string, { bytes, memory, held, ...rest }: LongFigures): void {
  const marks = [...bytes].sort(([a], [b]) => a - b);
  const perStep = Object.fromEntries(marks.map(([step, size]) => [step, Math.round(size / step)]));
  const load = loadavg().map((each) => each.toFixed(1));
  const figures = {
    kind: KIND,
    perStep,
    memory: Object.fromEntries(memory),
    held: Object.fromEntries(held),
    load,
    ...rest,
  };
  console.log(`${name}: ${JSON.stringify(figures)}`);
  for (let next = 1; next < marks.length; next++) {
    const [[before, less], [after, more]] = [marks[next - 1] ?? [0, 0], marks[next] ?? [0, 0]];
    const marginal = (more - less) / (after - before);
    expect(marginal).toBeLessThan(WANTED[KIND]);
    // The first steps also bear what a session begins with.
    expect(marginal).toBeLessThan((less / before) * FLAT);
  }
  const values = [...memory.values()];
  const early = median(values.slice(values.length / 4, values.length / 2));
  const late = median(values.slice((3 * values.length) / 4));
  expect(late).toBeLessThan(early * GROWTH.factor + GROWTH.megabytes);
  const [from, least] = quarter(held, 1);
  const [to, most] = quarter(held, 3);
  expect(most - least).toBeLessThan((to - from) * HELD.kilobytesAStep + HELD.once);
}

/** The middle of a quarter of the steps, and the median of what was measured in it. */
function quarter(measured: ReadonlyMap<number, number>, which: 1 | 3): [step: number, value: number] {
  const all = [...measured].slice((which * measured.size) / 4, ((which + 1) * measured.size) / 4);
  return [median(all.map(([step]) => step)), median(all.map(([, value]) => value))];
}

const marksOf = (steps: number) => [...new Set([...MARKS.filter((mark) => mark < steps), steps])];

test(
  `${STEPS} steps with outputs of 8 KB: the conversation ends, history grows by the same each step, and what the worker holds by little`,
  async () => {
    const figures = await longConversation({ steps: STEPS, marks: marksOf(STEPS), kind: KIND, kept: 'all' });
    expectFlat('all cached', figures);
  },
  60_000 + STEPS * 3_000,
);

test(
  `${STEPS} steps with a cache of one conversation while another agent takes turns with it: the same`,
  async () => {
    const figures = await longConversation({ steps: STEPS, marks: marksOf(STEPS), kind: KIND, kept: 'one' });
    expect(figures.others).toBeGreaterThanOrEqual(STEPS);
    expectFlat('one cached', figures);
  },
  60_000 + STEPS * 10_000,
);

test(
  `${COLD_STEPS} steps with no cache at all: the same, at the price of its time`,
  async () => {
    const marks = marksOf(COLD_STEPS);
    const figures = await longConversation({ steps: COLD_STEPS, marks, kind: KIND, kept: 'none' });
    expect(figures.others).toBeGreaterThanOrEqual(COLD_STEPS);
    expectFlat('none cached', figures);
  },
  60_000 + COLD_STEPS * 30_000,
);
