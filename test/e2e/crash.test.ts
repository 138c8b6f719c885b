import { existsSync, mkdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CadreHome, pidsOf, playing } from './cadre-home.ts';

const ROUNDS = Number(process.env.CADRE_CRASH_ROUNDS ?? 20);
/** Rounds at the same time, each with a home and a server of its own. */
const LANES = 4;
/** From the session's start to its end, and a little more: the kill comes somewhere in it. */
const RUN_MS = 5_000;
const ANSWER = 'report of child one; report of child two; report of child three';

/** Numbers in [0, 1) that a seed determines, so that a failing round can be run again. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Cadre's own processes: commands, workers, the server; not the commands that agents run. */
function ownPids(home: CadreHome): number[] {
  return home.pids().filter((pid) => {
    try {
      return ['node', 'temporal'].includes(basename(readlinkSync(`/proc/${pid}/exe`)));
    } catch {
      return false;
    }
  });
}

/** @returns whether the kill came before the session had ended */
async function round(number: number, seed: number): Promise<boolean> {
  const home = new CadreHome();
  const killAfter = randomFrom(seed)() * RUN_MS;
  const what = `round ${number}, seed ${seed}, killed after ${Math.round(killAfter)} ms`;
  try {
    mkdirSync(home.folder);
    const run = home.start(['run', 'the tree', ...playing('tree.yaml')], { cwd: home.folder });
    const [, id = ''] = await run.says(/session (a\w{12})/);
    await sleep(killAfter);
    home.killAll(ownPids(home));
    const { code } = await run.ended;
    for (let tries = 0; pidsOf(home.root).length > 0 && tries < 100; tries++) await sleep(50);
    expect(pidsOf(home.root), `${what}: commands that outlived their worker`).toEqual([]);

    const waited = await home.run(['wait', id, '--json', '--timeout', '150'], { cwd: home.folder });
    const answer = { status: { [id]: { completed: ANSWER } }, timed_out: false };
    expect(JSON.parse(waited.stdout), `${what}\n${waited.stderr}`).toEqual(answer);
    const log = join(home.folder, 'effects.log');
    const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
    expect(lines.length, `${what}: a command ran twice: ${lines}`).toBe(new Set(lines).size);
    return code === null;
  } finally {
    await home.remove();
  }
}

test(
  `kill -9 of every process at ${ROUNDS} random moments: the answer is right, no command ran twice or outlived its worker`,
  async () => {
    const seed = Number(process.env.CADRE_CRASH_SEED ?? Date.now() % 1_000_000);
    console.log(`CADRE_CRASH_SEED=${seed}`);
    const numbers = Array.from({ length: ROUNDS }, (_, index) => index);
    let killed = 0;
    const lane = async (): Promise<void> => {
      for (let next = numbers.shift(); next !== undefined; next = numbers.shift()) {
        if (await round(next, seed + next * 7_919)) killed++;
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    // A kill that comes after the end shows nothing.
    expect(killed).toBeGreaterThan(ROUNDS / 3);
  },
  15 * 60_000,
);
