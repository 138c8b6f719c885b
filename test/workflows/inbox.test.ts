import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AgentId, type Item, plainText } from '../../protocol/index.ts';
import { type ChildNotice, Inbox, textInput } from '../../workflows/inbox.ts';

const child = (n: number) => `a0k3v9x2m4qd7/worker-${n}` as AgentId;
const notice = (n: number, turn: number, status: ChildNotice['status'] = 'completed') => ({
  child: child(n),
  turn,
  status,
  text: `worker-${n} turn ${turn}`,
});
const texts = (items: Item[]) =>
  items.map((item) =>
    item.type === 'user_message' ? plainText(item.content) : (item as { text: string }).text,
  );
/** As it comes out of continue-as-new. */
const carried = (inbox: Inbox) => new Inbox(JSON.parse(JSON.stringify(inbox.carry)));

describe('the inbox', () => {
  test('delivers all that waits, in order, and nothing twice', () => {
    const inbox = new Inbox();
    inbox.accept(textInput('1', 'first'));
    inbox.announce(notice(1, 1));
    inbox.accept(textInput('2', 'second'));
    expect(texts(inbox.drain())).toEqual(['first', 'worker-1 turn 1', 'second']);
    expect(inbox.drain()).toEqual([]);
  });

  test('takes an input once, also after it was delivered and after continue-as-new', () => {
    const inbox = new Inbox();
    expect(inbox.accept(textInput('1', 'first'))).toBe(true);
    expect(inbox.accept(textInput('1', 'first'))).toBe(false);
    inbox.drain();
    const next = carried(inbox);
    expect(next.accept(textInput('1', 'first'))).toBe(false);
    expect(next.drain()).toEqual([]);
  });

  test('says whom an input came from', () => {
    const inbox = new Inbox();
    inbox.accept({ ...textInput('1', 'hello'), from: child(1) });
    inbox.accept(textInput('2', 'hello'));
    expect(inbox.drain().map((item) => 'from' in item && item.from)).toEqual([child(1), false]);
  });

  test('tells input from notices', () => {
    const inbox = new Inbox();
    inbox.announce(notice(1, 1));
    expect([inbox.hasInput, inbox.hasNotice]).toEqual([false, true]);
    inbox.accept(textInput('1', 'first'));
    expect([inbox.hasInput, inbox.hasNotice]).toEqual([true, true]);
    inbox.drain();
    expect([inbox.hasInput, inbox.hasNotice]).toEqual([false, false]);
  });

  test('takes back what the model has learnt of one turn, and nothing else', () => {
    const inbox = new Inbox();
    const lost = { ...notice(1, 2, 'errored'), text: 'worker-1 is lost' };
    for (const entry of [notice(1, 1), notice(2, 2), notice(1, 2), lost, notice(1, 3)]) inbox.announce(entry);
    inbox.accept(textInput('1', 'input'));
    inbox.withdraw(child(1), 2, 'completed');
    expect(texts(inbox.drain())).toEqual([
      'worker-1 turn 1',
      'worker-2 turn 2',
      'worker-1 is lost',
      'worker-1 turn 3',
      'input',
    ]);
  });

  test('remembers only the newest ids, so that its carry stays bounded', () => {
    const inbox = new Inbox();
    for (let n = 0; n < 3_000; n++) inbox.accept(textInput(`${n}`, ''));
    expect(inbox.carry.seen).toHaveLength(2_000);
    expect(inbox.accept(textInput('2999', ''))).toBe(false);
    expect(inbox.accept(textInput('1000', ''))).toBe(false);
  });

  test('holds what had come before the agent was closed until there is more, and gives it out before that', () => {
    const inbox = new Inbox();
    inbox.accept(textInput('1', 'first'));
    inbox.announce(notice(1, 1));
    inbox.accept(textInput('2', 'second'));
    expect(inbox.hold()).toBe(2);
    const next = carried(inbox);
    expect([next.hasInput, next.hasNotice, next.hasWakingNotice]).toEqual([false, false, false]);
    expect(next.accept(textInput('2', 'second'))).toBe(false);
    next.accept(textInput('3', 'third'));
    expect(next.hasInput).toBe(true);
    expect(texts(next.drain())).toEqual(['first', 'worker-1 turn 1', 'second', 'third']);
    expect(next.hold()).toBe(0);
  });

  test('tells notices that may start a turn from those that only go along', () => {
    const inbox = new Inbox();
    inbox.announce({ ...notice(1, 1, 'interrupted'), quiet: true });
    expect([inbox.hasNotice, inbox.hasWakingNotice]).toEqual([true, false]);
    expect(carried(inbox).hasWakingNotice).toBe(false);
    inbox.announce(notice(2, 1));
    expect(inbox.hasWakingNotice).toBe(true);
    expect(texts(inbox.drain())).toEqual(['worker-1 turn 1', 'worker-2 turn 1']);
  });

  test('keeps notices within bounds, however long they are: each has its share, inputs stay whole', () => {
    const inbox = new Inbox();
    for (let n = 1; n <= 10; n++)
      inbox.announce({ ...notice(n, 1), text: `${n} said ${'x'.repeat(390_000)} end` });
    inbox.announce(notice(11, 1));
    inbox.accept(textInput('1', 'y'.repeat(500_000)));
    expect(inbox.bytes).toBeGreaterThan(800_000);
    expect(inbox.bytes).toBeLessThan(910_000);
    const next = carried(inbox);
    expect(next.bytes).toBe(inbox.bytes);
    const delivered = texts(next.drain());
    expect(delivered.slice(0, 10).map((text) => text.slice(0, 6).trim())).toEqual(
      Array.from({ length: 10 }, (_, index) => `${index + 1} said`.slice(0, 6)),
    );
    for (const text of delivered.slice(0, 10)) {
      expect(text).toMatch(/bytes left out/);
      expect(text.endsWith(' end')).toBe(true);
    }
    expect(delivered.slice(10)).toEqual(['worker-11 turn 1', 'y'.repeat(500_000)]);
  });

  test('one notice may be as long as a report, and is whole then', () => {
    const inbox = new Inbox();
    const text = 'x'.repeat(399_000);
    inbox.announce({ ...notice(1, 1), text });
    expect(texts(carried(inbox).drain())).toEqual([text]);
  });

  test('keeps the newest 500 notices, says how many it has not kept, and loses no input for that', () => {
    let inbox = new Inbox();
    inbox.accept(textInput('1', 'first'));
    for (let turn = 1; turn <= 520; turn++) inbox.announce(notice(1, turn));
    inbox = carried(inbox);
    const [missed, input, oldest, ...others] = texts(inbox.drain());
    expect(missed).toMatch(/^20 turns of your agents ended before that.*not told one by one/);
    expect([input, oldest, others.length]).toEqual(['first', 'worker-1 turn 21', 499]);
    inbox.announce(notice(1, 521));
    expect(texts(inbox.drain())).toEqual(['worker-1 turn 521']);
  });

  test('confirms to each sender the newest of its inputs that was delivered', () => {
    const inbox = new Inbox();
    const send = (n: number, count: number) =>
      inbox.accept({ ...textInput(`${child(n)}#i${count}`, ''), from: child(n) });
    for (let count = 1; count <= 100; count++) send(1, count);
    send(2, 1);
    expect(inbox.taken).toEqual([]);
    inbox.drain();
    send(2, 2);
    expect(inbox.taken).toEqual([`${child(1)}#i100`, `${child(2)}#i1`]);
    expect(carried(inbox).taken).toEqual(inbox.taken);
  });

  test('confirms no input whose id its sender has not given it', () => {
    const inbox = new Inbox();
    inbox.accept({ ...textInput(`${child(1)}#i1`, ''), from: child(1) });
    inbox.accept({ ...textInput('forged', ''), from: child(1) });
    inbox.accept(textInput('from a person', ''));
    inbox.drain();
    expect(inbox.taken).toEqual([`${child(1)}#i1`]);
  });
});

type Step =
  | { kind: 'accept'; id: number }
  | { kind: 'announce'; child: number; turn: number }
  | { kind: 'withdraw'; child: number; turn: number }
  | { kind: 'drain' }
  | { kind: 'continue' }
  /** Closed, or ended from outside, and resumed. */
  | { kind: 'resume' }
  /** Its run is lost since it was last carried over; what came since comes again. */
  | { kind: 'crash' };

const small = fc.integer({ min: 1, max: 4 });
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('accept' as const), id: fc.integer({ min: 0, max: 12 }) }),
    fc.record({ kind: fc.constant('announce' as const), child: small, turn: small }),
    fc.record({ kind: fc.constant('withdraw' as const), child: small, turn: small }),
    fc.constant({ kind: 'drain' as const }),
    fc.constant({ kind: 'continue' as const }),
    fc.constant({ kind: 'resume' as const }),
    fc.constant({ kind: 'crash' as const }),
  ),
  { maxLength: 60 },
);

test('any mix of inputs, notices, continue-as-new, crashes and resumes is delivered in order, each once', () => {
  fc.assert(
    fc.property(steps, (steps) => {
      let inbox = new Inbox();
      // A run begins with what was carried; a worker that takes over does again what has come since.
      let begun = { carry: JSON.stringify(inbox.carry), since: [] as ((inbox: Inbox) => unknown)[] };
      const begin = (): void => {
        begun = { carry: JSON.stringify(inbox.carry), since: [] };
        inbox = new Inbox(JSON.parse(begun.carry));
      };
      const act = <T>(what: (inbox: Inbox) => T): T => {
        begun.since.push(what);
        return what(inbox);
      };
      const accepted = new Set<number>();
      let waiting: { text: string; child?: number; turn?: number; held?: boolean }[] = [];
      for (const step of steps) {
        switch (step.kind) {
          case 'accept': {
            const isNew = act((inbox) => inbox.accept(textInput(`${step.id}`, `input ${step.id}`)));
            expect(isNew).toBe(!accepted.has(step.id));
            if (isNew) waiting.push({ text: `input ${step.id}` });
            accepted.add(step.id);
            break;
          }
          case 'announce':
            act((inbox) => inbox.announce(notice(step.child, step.turn)));
            waiting.push({ text: notice(step.child, step.turn).text, child: step.child, turn: step.turn });
            break;
          case 'withdraw':
            act((inbox) => inbox.withdraw(child(step.child), step.turn, 'completed'));
            waiting = waiting.filter(({ child, turn }) => child !== step.child || turn !== step.turn);
            break;
          case 'drain':
            expect(texts(act((inbox) => inbox.drain()))).toEqual(waiting.splice(0).map(({ text }) => text));
            break;
          case 'continue':
            begin();
            break;
          case 'resume':
            begin();
            waiting = waiting.map((entry) => ({ ...entry, held: true }));
            expect(act((inbox) => inbox.hold())).toBe(
              waiting.filter(({ child }) => child === undefined).length,
            );
            break;
          case 'crash':
            inbox = new Inbox(JSON.parse(begun.carry));
            for (const again of begun.since) again(inbox);
            break;
        }
        const fresh = waiting.filter(({ held }) => held !== true);
        expect(inbox.hasInput).toBe(fresh.some((entry) => entry.child === undefined));
        expect(inbox.hasNotice).toBe(fresh.some((entry) => entry.child !== undefined));
      }
      expect(texts(inbox.drain())).toEqual(waiting.map(({ text }) => text));
    }),
  );
});

describe('input that has a turn of its own', () => {
  const parent = 'a0k3v9x2m4qd7';
  const own = (id: string) => ({
    ...textInput(`${parent}#${id}`, id),
    from: parent,
    own_turn: true as const,
  });

  test('joins no running turn, and each turn begins with one of them', () => {
    const inbox = new Inbox();
    for (const id of ['i1', 'i2', 'i3']) inbox.accept(own(id));
    expect([inbox.hasInput, inbox.hasSteering]).toEqual([true, false]);
    expect(texts(inbox.drainForTurn(true))).toEqual(['i1']);
    expect(inbox.taken).toEqual([`${parent}#i1`]);
    expect(inbox.drainForTurn(false)).toEqual([]);
    const next = carried(inbox);
    expect(texts(next.drainForTurn(true))).toEqual(['i2']);
    expect(texts(next.drainForTurn(true))).toEqual(['i3']);
    expect(next.hasInput).toBe(false);
  });

  test('keeps neither notices nor what others send from a running turn', () => {
    const inbox = new Inbox();
    inbox.accept(own('i1'));
    inbox.announce(notice(1, 1));
    inbox.accept(textInput('p', 'of a person'));
    expect(inbox.hasSteering).toBe(true);
    expect(texts(inbox.drainForTurn(false))).toEqual(['worker-1 turn 1', 'of a person']);
    expect(texts(inbox.drainForTurn(true))).toEqual(['i1']);
  });

  test('lets what came before it have its turn', () => {
    const inbox = new Inbox();
    inbox.accept(textInput('p', 'of a person'));
    inbox.accept(own('i1'));
    expect(texts(inbox.drainForTurn(true))).toEqual(['of a person']);
    expect(texts(inbox.drainForTurn(true))).toEqual(['i1']);
  });

  test('comes behind what was held, and before what its sender sends later', () => {
    const inbox = new Inbox();
    inbox.accept({ ...textInput(`${parent}#i0`, 'the goal'), from: parent });
    inbox.hold();
    expect(inbox.hasInput).toBe(false);
    inbox.accept(own('i1'));
    inbox.accept(own('i2'));
    inbox.accept({ ...textInput(`${parent}#i3`, 'i3'), from: parent });
    expect(texts(inbox.drainForTurn(true))).toEqual(['the goal', 'i1']);
    expect(inbox.hasSteering).toBe(false);
    expect(inbox.drainForTurn(false)).toEqual([]);
    expect(texts(inbox.drainForTurn(true))).toEqual(['i2', 'i3']);
  });
});
