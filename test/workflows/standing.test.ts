import { describe, expect, test } from 'vitest';
import { noUsage } from '../../protocol/index.ts';
import { Standing } from '../../workflows/standing.ts';

const started = () => {
  const standing = new Standing(1_000);
  standing.startTurn(2_000);
  return standing;
};

describe('how an agent stands', () => {
  test('is waiting for its first turn at the start', () => {
    const standing = new Standing(1_000);
    expect(standing).toMatchObject({
      status: 'pending_init',
      turn: 0,
      step: 0,
      since: 1_000,
      isFinal: false,
    });
  });

  test('counts turns, and steps within the turn', () => {
    const standing = started();
    expect([standing.startStep(2_100), standing.startStep(2_200)]).toEqual([1, 2]);
    standing.endTurn('completed', 'done', undefined, 3_000);
    standing.startTurn(4_000);
    expect([standing.turn, standing.step, standing.turnStarted]).toEqual([2, 0, 4_000]);
  });

  test('shows the answer beside the status until the next turn starts', () => {
    const standing = started();
    standing.endTurn('completed', 'done', undefined, 3_000);
    expect(standing).toMatchObject({ status: 'completed', message: 'done', since: 3_000, isFinal: true });
    standing.startTurn(4_000);
    expect([standing.status, standing.message, standing.since]).toEqual(['running', undefined, 4_000]);
  });

  test('keeps the code of an error until the next turn starts', () => {
    const standing = started();
    standing.endTurn('errored', 'no key', 'model_refused', 3_000);
    expect(standing.code).toBe('model_refused');
    standing.startTurn(4_000);
    expect(standing.code).toBeUndefined();
  });

  test('runs all along when a turn follows the other without an end in between', () => {
    const standing = started();
    standing.startStep(2_500);
    standing.nextTurn(3_000);
    expect(standing).toMatchObject({ status: 'running', turn: 2, step: 0, since: 2_000, turnStarted: 3_000 });
  });

  test('remembers what its turn has come to while it settles, and not in the turn after it', () => {
    const outcome = { status: 'completed', message: 'done' } as const;
    const standing = started();
    standing.settle(outcome, 2_500);
    expect(standing).toMatchObject({ status: 'running', settling: outcome });
    expect(new Standing(9_000, JSON.parse(JSON.stringify(standing.carry))).settling).toEqual(outcome);
    standing.nextTurn(3_000);
    expect(standing.settling).toBeUndefined();
    standing.settle(outcome, 3_500);
    standing.endTurn('completed', 'done', undefined, 4_000);
    expect(standing.settling).toBeUndefined();
    standing.startTurn(5_000);
    standing.settle(outcome, 5_500);
    standing.reopen(6_000);
    expect(standing).toMatchObject({ status: 'interrupted', settling: undefined });
  });

  test('waits for nothing and uses no tool once the turn has ended', () => {
    const standing = started();
    standing.waitingFor = 'tool';
    standing.currentTool = 'shell · npm test';
    standing.endTurn('interrupted', 'by a person', undefined, 3_000);
    expect([standing.waitingFor, standing.currentTool]).toEqual([undefined, undefined]);
  });

  test('is shut down when closed, with the last answer still beside it', () => {
    const standing = started();
    standing.endTurn('completed', 'done', undefined, 3_000);
    standing.close(false, 'closed by a person', 5_000);
    expect(standing).toMatchObject({ status: 'shutdown', message: 'done', closed: true });
  });

  test.each([
    ['errored', 'no key', 'model_refused'],
    ['interrupted', 'by a person', undefined],
  ] as const)(
    'runs again after it was %s: since then, without the reason, and as no final one',
    (status, reason, code) => {
      const standing = started();
      standing.endTurn(status, reason, code, 3_000);
      expect(standing).toMatchObject({ status, message: reason, isFinal: true });
      standing.startTurn(4_000);
      expect(standing).toMatchObject({ status: 'running', isFinal: false, since: 4_000, turn: 2 });
      expect([standing.message, standing.code]).toEqual([undefined, undefined]);
    },
  );

  test.each([
    ['errored', 'no key', 'model_refused'],
    ['interrupted', 'by a person', undefined],
  ] as const)(
    'is shut down when it was %s, with the reason beside it, and comes back as it was',
    (status, reason, code) => {
      const standing = started();
      standing.endTurn(status, reason, code, 3_000);
      standing.close(false, 'closed by a person', 5_000);
      expect(standing).toMatchObject({ status: 'shutdown', message: reason, since: 5_000, closed: true });
      expect(standing.code).toBeUndefined();
      const next = new Standing(9_000, JSON.parse(JSON.stringify(standing.carry)));
      next.reopen(9_500);
      expect(next).toMatchObject({ status, message: reason, since: 9_500, closed: false });
      expect(next.code).toBe(code);
    },
  );

  test('comes back as it was where its next turn had not begun, and as interrupted where it never had one', () => {
    const standing = started();
    standing.endTurn('completed', 'done', undefined, 3_000);
    standing.close(false, 'closed by a person', 5_000);
    standing.reopen(6_000, true);
    expect(standing).toMatchObject({ status: 'completed', message: 'done' });
    const young = new Standing(1_000);
    young.close(false, 'closed by a person', 2_000);
    const again = new Standing(1_000, JSON.parse(JSON.stringify(young.carry)));
    young.reopen(3_000, true);
    expect(young).toMatchObject({ status: 'interrupted', message: expect.stringContaining('first turn') });
    again.reopen(3_000);
    expect(again).toMatchObject({ status: 'pending_init', isFinal: false });
  });

  test('says why it was closed where there is no answer', () => {
    const standing = new Standing(1_000);
    standing.close(false, 'closed by a person', 5_000);
    expect(standing).toMatchObject({ status: 'shutdown', message: 'closed by a person', closed: true });
  });

  test('keeps its last status when the session ends by itself', () => {
    const standing = started();
    standing.endTurn('errored', 'no key', 'model_refused', 3_000);
    standing.close(true, 'the session has settled', 5_000);
    expect(standing).toMatchObject({
      status: 'errored',
      message: 'no key',
      code: 'model_refused',
      closed: true,
    });
  });

  test('is shut down by the end of its session where it never had a turn', () => {
    const standing = new Standing(1_000);
    standing.close(true, 'the session has settled', 5_000);
    expect(standing.status).toBe('shutdown');
  });

  test('lacks an approval for one turn only', () => {
    const standing = started();
    standing.missApproval(2_500);
    standing.nextTurn(2_600);
    expect(standing.approvalMissing).toBe(true);
    standing.endTurn('completed', 'done', undefined, 3_000);
    expect(standing.approvalMissing).toBe(true);
    standing.startTurn(4_000);
    expect(standing.approvalMissing).toBe(false);
  });

  test('adds up tokens and remembers plan, note and refused approvals', () => {
    const standing = started();
    const usage = { ...noUsage, input_tokens: 10, total_tokens: 15, output_tokens: 5 };
    standing.used(usage, 2_100);
    standing.used(usage, 2_200);
    standing.setPlan([{ step: 'look', status: 'completed' }], 2_300);
    standing.setNote('main line', 2_400);
    standing.missApproval(2_500);
    const next = new Standing(9_000, JSON.parse(JSON.stringify(standing.carry)));
    expect(next).toMatchObject({
      usage: { input_tokens: 20, total_tokens: 30 },
      plan: [{ step: 'look', status: 'completed' }],
      note: 'main line',
      approvalMissing: true,
      since: 2_000,
      updated: 2_500,
    });
    next.setNote(undefined, 9_100);
    expect(next.note).toBeUndefined();
    expect(next.carry).not.toHaveProperty('note');
  });
});
