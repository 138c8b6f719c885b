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
  | { kind: 'continue' };

const small = fc.integer({ min: 1, max: 4 });
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('accept' as const), id: fc.integer({ min: 0, max: 12 }) }),
    fc.record({ kind: fc.constant('announce' as const), child: small, turn: small }),
    fc.record({ kind: fc.constant('withdraw' as const), child: small, turn: small }),
    fc.constant({ kind: 'drain' as const }),
    fc.constant({ kind: 'continue' as const }),
  ),
  { maxLength: 60 },
);

test('any mix of inputs, notices and continue-as-new is delivered in order, each once', () => {
  fc.assert(
    fc.property(steps, (steps) => {
      let inbox = new Inbox();
      const accepted = new Set<number>();
      let waiting: { text: string; child?: number; turn?: number }[] = [];
      for (const step of steps) {
        switch (step.kind) {
          case 'accept':
            expect(inbox.accept(textInput(`${step.id}`, `input ${step.id}`))).toBe(!accepted.has(step.id));
            if (!accepted.has(step.id)) waiting.push({ text: `input ${step.id}` });
            accepted.add(step.id);
            break;
          case 'announce':
            inbox.announce(notice(step.child, step.turn));
            waiting.push({ text: notice(step.child, step.turn).text, child: step.child, turn: step.turn });
            break;
          case 'withdraw':
            inbox.withdraw(child(step.child), step.turn, 'completed');
            waiting = waiting.filter(({ child, turn }) => child !== step.child || turn !== step.turn);
            break;
          case 'drain':
            expect(texts(inbox.drain())).toEqual(waiting.splice(0).map(({ text }) => text));
            break;
          case 'continue':
            inbox = carried(inbox);
            break;
        }
        expect(inbox.hasInput).toBe(waiting.some((entry) => entry.child === undefined));
        expect(inbox.hasNotice).toBe(waiting.some((entry) => entry.child !== undefined));
      }
      expect(texts(inbox.drain())).toEqual(waiting.map(({ text }) => text));
    }),
  );
});
