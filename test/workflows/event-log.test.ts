import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentEvent, AgentId, SessionId } from '../../protocol/index.ts';
import { EventLog } from '../../workflows/event-log.ts';

const SESSION = 'a0k3v9x2m4qd7' as SessionId;
const AGENT = `${SESSION}/worker-1` as AgentId;
const NOON = Date.UTC(2026, 0, 1, 12);

const warning = (text: string) => ({ type: 'warning', text }) as const;
const filled = (texts: string[]) => {
  const log = new EventLog(AGENT, SESSION);
  for (const text of texts) log.add(warning(text), NOON);
  return log;
};
const carried = (log: EventLog) => new EventLog(AGENT, SESSION, JSON.parse(JSON.stringify(log.carry)));

/** Reads to the end, as a follower does. */
function follow(log: EventLog, after = 0): { events: AgentEvent[]; dropped: number } {
  const events: AgentEvent[] = [];
  let dropped = 0;
  for (let at = after; ; ) {
    const page = log.page(at);
    dropped += page.dropped ?? 0;
    events.push(...page.events);
    if (page.events.length === 0) return { events, dropped };
    at = page.next;
  }
}

describe('the event log', () => {
  test('heads each event with its number, time, agent and session', () => {
    expect(filled(['careful']).page().events).toEqual([
      {
        seq: 1,
        at: '2026-01-01T12:00:00.000Z',
        agent_id: AGENT,
        session_id: SESSION,
        type: 'warning',
        text: 'careful',
      },
    ]);
  });

  test('gives the events after a number, and where to go on', () => {
    const log = filled(['a', 'b', 'c']);
    expect(log.page(1)).toMatchObject({ events: [{ seq: 2 }, { seq: 3 }], next: 3 });
    expect(log.page(3)).toEqual({ events: [], next: 3 });
    expect(log.page(7)).toEqual({ events: [], next: 7 });
    expect(new EventLog(AGENT, SESSION).page()).toEqual({ events: [], next: 0 });
  });

  test('drops the oldest when it gets large, and says how many', () => {
    const log = filled(Array.from({ length: 100 }, () => 'x'.repeat(10_000)));
    const { events, dropped } = log.page();
    expect(dropped).toBeGreaterThan(0);
    expect(events[0]?.seq).toBe((dropped ?? 0) + 1);
    expect(events.at(-1)?.seq).toBe(100);
    expect(log.page(dropped)).not.toHaveProperty('dropped');
  });

  test('holds the beginning of a long text, so that no event pushes out the others', () => {
    const log = filled(['small', 'x'.repeat(3_000_000)]);
    const text = `${'x'.repeat(4_000)}…`;
    expect(log.page()).toMatchObject({ events: [{ text: 'small' }, { text }], next: 2 });
  });

  test('holds an event with many long texts within 16,000 bytes, each text cut', () => {
    const ids = Array.from({ length: 60 }, (_, n) => `${SESSION}/worker-${n + 1}` as AgentId);
    const statuses = Object.fromEntries(ids.map((id) => [id, { completed: 'é'.repeat(50_000) }]));
    const log = new EventLog(AGENT, SESSION);
    log.add({ type: 'agent.wait.end', call_id: 'c', sender_id: AGENT, statuses, timed_out: false }, NOON);
    const [event] = log.page().events;
    expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(17_000);
    expect(event).toMatchObject({
      statuses: Object.fromEntries(
        ids.map((id) => [id, { completed: expect.stringMatching(/^é+\n\[… .* bytes left out …\]\né*…$/) }]),
      ),
    });
  });

  test('takes only the newest events through continue-as-new, and says how many are gone', () => {
    const next = carried(filled(Array.from({ length: 50 }, () => 'x'.repeat(3_000))));
    expect(JSON.stringify(next.carry).length).toBeLessThan(70_000);
    next.add(warning('after'), NOON);
    const { events, dropped } = next.page();
    expect(dropped).toBe((events[0]?.seq ?? 0) - 1);
    expect(events.at(-1)).toMatchObject({ seq: 51, text: 'after' });
  });
});

const sizes = fc.array(
  fc.oneof(fc.constant('continue' as const), fc.constantFrom(1, 100, 2_000, 4_000, 70_000, 350_000)),
  { maxLength: 200 },
);

test('numbers run without gaps, and each event is either there or counted as dropped', () => {
  fc.assert(
    fc.property(sizes, fc.nat(210), (steps, after) => {
      let log = new EventLog(AGENT, SESSION);
      let added = 0;
      for (const step of steps) {
        if (step === 'continue') log = carried(log);
        else {
          log.add(warning('x'.repeat(step)), NOON);
          added++;
        }
      }
      const { events, dropped } = follow(log, after);
      const expected = Math.max(0, added - after);
      expect(dropped + events.length).toBe(expected);
      expect(events.map((event) => event.seq)).toEqual(
        Array.from({ length: events.length }, (_, index) => added - events.length + index + 1),
      );
    }),
  );
});

test('a follower that reads between the events misses none that were held', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3), { maxLength: 30 }), (bursts) => {
      const log = new EventLog(AGENT, SESSION);
      const seen: number[] = [];
      let at = 0;
      let added = 0;
      for (const burst of bursts) {
        for (let n = 0; n < burst; n++) log.add(warning(`${++added}`), NOON);
        const page = log.page(at);
        expect(page).not.toHaveProperty('dropped');
        seen.push(...page.events.map((event) => event.seq));
        at = page.next;
      }
      expect(seen).toEqual(Array.from({ length: added }, (_, index) => index + 1));
    }),
  );
});
