import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { call, heard, outputs, type Say, type Seen, say, spawn, spawned, wait } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withShortRuns } from './with-short-runs.ts';

/** At full length 50 agents, 200 events a run and 100 moves to a new run; the small form shows that it works. */
const FULL = process.env.CADRE_MANY_RUNS !== undefined;
const { leads, hands, steps, eventsOfRun, moves } = FULL
  ? { leads: 7, hands: 6, steps: 40, eventsOfRun: 200, moves: 100 }
  : { leads: 2, hands: 1, steps: 5, eventsOfRun: 40, moves: 10 };
const AGENTS = 1 + leads * (1 + hands);
const THREADS = FULL ? 12 : 3;
const PAUSE_MS = FULL ? 100 : 50;
const END_MS = FULL ? 40 * 60_000 : 120_000;

const own = withShortRuns(eventsOfRun, { endMs: END_MS });

const report = (agent: string, turn: number) => `report of ${agent}, turn ${turn};`;
const NAMES = [
  'root',
  ...Array.from({ length: leads }, (_, lead) => [
    `default-${lead + 1}`,
    ...Array.from({ length: hands }, (_, hand) => `default-${lead + 1}/default-${hand + 1}`),
  ]).flat(),
];

/** The root has leads and these have hands; whoever has agents below waits for all of them, and input may come all the while. */
function script(seen: Seen): Say {
  const { agent, step, turn, items } = seen;
  const isHand = agent.includes('/');
  if (isHand) return step < steps ? call('look', { n: step }) : say(report(agent, turn));
  if (step === 0) return spawn(...Array.from({ length: agent === 'root' ? leads : hands }, () => 'work'));
  const told = new Set(outputs(items, 'wait').flatMap(({ status }) => Object.keys(status)));
  const missing = spawned(items).filter((id) => !told.has(id));
  return missing.length > 0 ? wait(missing, { mode: 'all' }) : say(report(agent, turn));
}

/** Input for every agent that is there, one after the other, each when the last one has been taken, until it is over. */
function inputAllTheWhile(session: ScriptedSession): {
  sent: Map<string, string[]>;
  mostAtWork(): number;
  stop(): Promise<void>;
} {
  const sent = new Map(NAMES.map((name) => [name, [] as string[]]));
  let over = false;
  let most = 0;
  const sending = (async () => {
    for (let n = 0; !over; n++) {
      for (const [name, texts] of sent) {
        if (over) return;
        const text = `input ${n} for ${name}`;
        await session.send({ message: text, id: text }, name).then(
          () => texts.push(text),
          () => {},
        );
        // A client that retries.
        if (n % 7 === 3 && texts.includes(text))
          await session.send({ message: 'again', id: text }, name).catch(() => {});
        await sleep(PAUSE_MS);
      }
      most = Math.max(most, (await session.tree()).slots?.used ?? 0);
    }
  })();
  return {
    sent,
    mostAtWork: () => most,
    stop: () => {
      over = true;
      return sending;
    },
  };
}

test(
  `${AGENTS} agents on three levels with input all the while go through ${moves} new runs and more: no input, no report and no slot is lost, doubled or reordered`,
  async () => {
    const begun = Date.now();
    const session = await own().worker.start({
      limits: { max_threads: THREADS, when_full: 'queue', max_steps: 100_000 },
      tools: { look: ({ args }) => `file ${args.n}` },
      script,
    });
    const input = inputAllTheWhile(session);
    const final = async (name: string, end = begun + END_MS) => {
      for (;;) {
        const view = await session.status(name).catch(() => undefined);
        if (view?.is_final === true && view.queued !== true) return view;
        if (Date.now() > end) throw new Error(`${name} is ${JSON.stringify(view)}`);
        await sleep(500);
      }
    };
    // Its first turn ends when all below it have reported.
    for (let isOver = false; !isOver; await sleep(1_000)) {
      const asked = session.asked('root').at(-1)?.items ?? [];
      isOver = new Set(outputs(asked, 'wait').flatMap(({ status }) => Object.keys(status))).size === leads;
      if (Date.now() > begun + END_MS) throw new Error('the root has not heard of all leads');
    }
    await input.stop();
    let runs = 0;
    let inputs = 0;
    let turns = 0;
    for (const name of NAMES) {
      const view = await final(name);
      expect(view.status, name).toBe('completed');
      expect(view.message).toBe(report(name, view.turn));
      const items = await session.items(name);
      const texts = heard(items);
      const first = name === 'root' ? 'the task' : 'work';
      expect(texts.filter((text) => !text.startsWith('notice'))).toEqual([
        first,
        ...(input.sent.get(name) ?? []),
      ]);
      if (name.includes('/'))
        expect(outputs(items, 'look')).toEqual(Array.from({ length: steps }, (_, n) => `file ${n}`));
      else expectReportsInOrder(items);
      const events = await session.events(name);
      const [{ seq: from } = { seq: 0 }] = events;
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => from + index));
      runs += (await own().worker.runs(session.idOf(name))).length;
      inputs += input.sent.get(name)?.length ?? 0;
      turns += view.turn;
    }
    // What the root knows of each is what that one says itself: its last report has arrived.
    await expect
      .poll(
        async () => {
          const { agents, slots } = await session.tree();
          const known = agents.map(({ agent_id: id, message }) => [id, message]);
          return { known: Object.fromEntries(known), slots };
        },
        { timeout: 60_000, interval: 500 },
      )
      .toEqual({
        known: Object.fromEntries(
          await Promise.all(
            NAMES.map(async (name) => [session.idOf(name), (await session.status(name)).message]),
          ),
        ),
        slots: { used: 0, max: THREADS },
      });
    const newRuns = runs - NAMES.length;
    const seconds = Math.round((Date.now() - begun) / 1_000);
    const load = loadavg().map((each) => each.toFixed(1));
    const figures = { agents: AGENTS, newRuns, inputs, turns, most: input.mostAtWork(), seconds, load };
    console.log(JSON.stringify(figures));
    expect(newRuns).toBeGreaterThanOrEqual(moves);
    expect(input.mostAtWork()).toBeLessThanOrEqual(THREADS);
  },
  END_MS * 1.5,
);

/**
 * Of each agent below, turn by turn: no notice of what is known. A wait tells how an agent stands now; the notice of an
 * earlier turn, which stood in line then, comes after it, so that nothing is lost.
 */
function expectReportsInOrder(items: Seen['items']): void {
  const noticed = new Map<string, number>();
  const waitedFor = new Map<string, number[]>();
  for (const item of items) {
    const isNotice = item.type === 'notice';
    const isAnswer = item.type === 'tool_output' && item.output.includes('timed_out');
    const text = isNotice ? item.text : isAnswer ? item.output : '';
    for (const [, agent = '', told = ''] of text.matchAll(/report of ([\w/-]+), turn (\d+);/g)) {
      const turn = Number(told);
      const known = waitedFor.get(agent) ?? [];
      const where = `${agent} in ${text}`;
      if (isNotice) {
        expect(turn, where).toBeGreaterThan(noticed.get(agent) ?? 0);
        expect(known, where).not.toContain(turn);
        noticed.set(agent, turn);
      } else {
        // It may be for what a notice has told before.
        expect(turn, where).toBeGreaterThanOrEqual(Math.max(noticed.get(agent) ?? 0, ...known));
        waitedFor.set(agent, [...known, turn]);
      }
    }
  }
}
