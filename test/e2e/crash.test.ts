import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Counts, examine } from '../cluster/evidence.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { randomFrom } from '../support/random.ts';
import { scriptAnswerer } from '../support/scripted-model-server.ts';
import { SCRIPTS } from './cadre-home.ts';
import { ANSWERS, type Fault, planFrom } from './crash-plan.ts';
import { StruckSession } from './struck-session.ts';

const ROUNDS = Number(process.env.CADRE_CRASH_ROUNDS ?? 12);
/** Rounds at the same time, each with a home and a server of its own. */
const LANES = Number(process.env.CADRE_CRASH_LANES ?? 4);
const SEED = Number(process.env.CADRE_CRASH_SEED ?? Date.now() % 1_000_000);
/** Where the home of a round that has gone wrong is kept, with the server's database and all histories in it. */
const KEEP = process.env.CADRE_CRASH_KEEP;
const ROUND_MS = 5 * 60_000;

interface Figures extends Counts {
  rounds: number;
  faults: Partial<Record<Fault['kind'], number>>;
}

let model: ModelServer;
beforeAll(async () => {
  // It keeps all that it is asked: a round finds what it needs in the conversations.
  model = await startModelServer(scriptAnswerer(join(SCRIPTS, 'crash.yaml')), { models: ['gpt-5'] });
});
afterAll(() => model.close());

/** @returns what is not as it should be */
async function round(seed: number, figures: Figures): Promise<string[]> {
  const plan = planFrom(randomFrom(seed));
  const session = await StruckSession.begin(plan, Number(new URL(model.url).port));
  const problems = session.problems;
  try {
    const answer = await session.end();
    const wanted = { status: { [session.id]: { completed: ANSWERS[plan.task] } }, timed_out: false };
    if (JSON.stringify(answer) !== JSON.stringify(wanted)) problems.push(`said ${JSON.stringify(answer)}`);
    const found = examine(await session.conversations(), session.home.folder);
    problems.push(...found.problems);
    for (const name of Object.keys(found.counts) as (keyof Counts)[]) figures[name] += found.counts[name];
  } catch (error) {
    problems.push(String(error));
  } finally {
    await session.remove(problems.length > 0 ? KEEP : undefined);
  }
  figures.rounds++;
  for (const kind of session.struck) figures.faults[kind] = (figures.faults[kind] ?? 0) + 1;
  if (problems.length === 0) return [];
  return [
    `CADRE_CRASH_SEED=${seed} CADRE_CRASH_ROUNDS=1\n${JSON.stringify(plan)}`,
    ...problems,
    ...session.told,
  ];
}

test(
  `${ROUNDS} rounds of kills, stops, restarts and cuts at random moments: each session ends as its script says, and no effect happens twice or untold`,
  async () => {
    console.log(`CADRE_CRASH_SEED=${SEED}`);
    const none: Counts = { agents: 0, steps: 0, effects: 0, unknown: 0, interrupted: 0 };
    const figures: Figures = { ...none, rounds: 0, faults: {} };
    const seeds = Array.from({ length: ROUNDS }, (_, index) => SEED + index * 7_919);
    const problems: string[] = [];
    const lane = async (): Promise<void> => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        const found = await round(seed, figures);
        if (found.length > 0) console.log(found.join('\n'));
        problems.push(...found);
        model.requests.length = 0;
        if (figures.rounds % 10 === 0) console.log(JSON.stringify(figures));
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    console.log(JSON.stringify(figures));
    expect(problems).toEqual([]);
    // A failure that comes after the end shows nothing.
    const struck = Object.values(figures.faults).reduce((sum, count) => sum + count, 0);
    expect(struck).toBeGreaterThan(ROUNDS / 2);
  },
  10 * 60_000 + (ROUNDS / LANES) * ROUND_MS,
);
