import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CadreClient } from '../../client/index.ts';
import { SEARCH_ATTRIBUTES } from '../../protocol/index.ts';
import { CadreHome, pidsOf } from '../e2e/cadre-home.ts';
import { randomFrom } from '../support/random.ts';
import { type Counts, examine } from './evidence.ts';
import { KINDS, type Played, play } from './mixed-sessions.ts';
import { WorkerCrew } from './worker-crew.ts';

/** `host:port` of a production server, with a namespace that may be written to. Without it nothing of this runs. */
const ADDRESS = process.env.CADRE_TEST_CLUSTER;
const NAMESPACE = process.env.CADRE_TEST_CLUSTER_NAMESPACE ?? 'default';
/** So long new sessions begin, and workers are killed until the last one has ended. */
const SECONDS = Number(process.env.CADRE_TEST_CLUSTER_SECONDS ?? 180);
const SEED = Number(process.env.CADRE_TEST_CLUSTER_SEED ?? Date.now() % 1_000_000);
const WORKERS = 3;
/** Sessions at the same time. */
const LANES = 10;
const KILL_EVERY_MS = { least: 3_000, most: 7_000 };

const home = new CadreHome({ TEMPORAL_ADDRESS: ADDRESS ?? '', TEMPORAL_NAMESPACE: NAMESPACE });
const queue = `mixed-${Date.now().toString(36)}`;

beforeAll(() => mkdirSync(home.folder, { recursive: true }));
afterAll(() => home.remove());

test.skipIf(ADDRESS === undefined)(
  `setup, then ${SECONDS} s of sessions on three workers of which one is killed every few seconds: each ends as its script says, and no effect happens twice or untold`,
  async () => {
    const setup = await home.run(['setup', '--json']);
    expect(setup, setup.stderr).toMatchObject({ code: 0 });
    expect(await home.json(['setup'])).toEqual({ registered: [] });
    const client = await CadreClient.connect({ address: ADDRESS ?? '', namespace: NAMESPACE });
    expect((await client.knownSearchAttributes()).toSorted()).toEqual(
      Object.keys(SEARCH_ATTRIBUTES).toSorted(),
    );

    const crew = new WorkerCrew(home, queue);
    await crew.start(WORKERS);
    const random = randomFrom(SEED);
    const begun = Date.now();
    const played: Played[] = [];
    const waiting = Array.from({ length: 10_000 }, (_, index) => KINDS[index % KINDS.length] ?? 'tree');
    const lane = async (): Promise<void> => {
      while (Date.now() - begun < SECONDS * 1_000) {
        const kind = waiting.shift() ?? 'tree';
        played.push(await play({ client, home, queue, random }, kind));
      }
    };
    let over = false;
    const killing = (async () => {
      while (!over) {
        await sleep(KILL_EVERY_MS.least + random() * (KILL_EVERY_MS.most - KILL_EVERY_MS.least));
        if (!over) await crew.replace(Math.floor(random() * WORKERS));
      }
    })();
    const ended = await Promise.allSettled(Array.from({ length: LANES }, lane));
    over = true;
    await killing;
    const exitCodes = await crew.drain();

    const seconds = Math.round((Date.now() - begun) / 1_000);
    const total: Counts = { agents: 0, steps: 0, effects: 0, unknown: 0, interrupted: 0 };
    const problems: string[] = ended.flatMap((end) =>
      end.status === 'rejected' ? [String(end.reason)] : [],
    );
    for (const session of played) {
      const found = examine(session.conversations, session.folder);
      for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += found.counts[name];
      const wrong =
        session.got === session.expected ? [] : [`${session.id} (${session.kind}) said: ${session.got}`];
      problems.push(...wrong, ...session.problems, ...found.problems);
    }
    const figures = { seed: SEED, seconds, sessions: played.length, kills: crew.kills, ...total };
    console.log(JSON.stringify(figures));
    console.log([...new Set(crew.complaints())].slice(0, 40).join('\n'));
    expect(problems).toEqual([]);
    expect(crew.complaints().filter((line) => /TMPRL1100|nondetermin/i.test(line))).toEqual([]);
    expect(exitCodes).toEqual([0, 0, 0]);
    for (let tries = 0; pidsOf(home.folder).length > 0 && tries < 100; tries++) await sleep(50);
    expect(pidsOf(home.folder), 'commands that outlived their worker').toEqual([]);
    // What shows nothing is no test.
    expect(crew.kills).toBeGreaterThan(SECONDS / 20);
    expect(played.length).toBeGreaterThanOrEqual(LANES);
  },
  SECONDS * 1_000 + 15 * 60_000,
);
