import { describe, expect, test } from 'vitest';
import type { AgentCarry } from '../../workflows/carry.ts';
import { arrived, BURST, burst, heardOfBurst } from './burst.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import { call, lines, outputs, say, spawn, waitForAll } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

/** All of the burst, in the order in which it came, each once. */
async function expectWhole(session: ScriptedSession): Promise<void> {
  const expected = await arrived(worker(), session);
  expect(expected).toHaveLength(BURST);
  expect(heardOfBurst(await session.items())).toEqual(expected);
}
const untilAllHeard = async (session: ScriptedSession) => {
  await session.until('root', ({ is_final, queued }) => is_final && queued !== true);
  await eventually(async () => expect(heardOfBurst(await session.items())).toHaveLength(BURST));
  await session.until('root', ({ is_final }) => is_final);
};

// One after the other: each is as much work as a whole test file.
describe('a burst of 150 inputs is delivered in order, each once', () => {
  test('during a model call', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: lines({ root: [() => gate.opened.then(() => say('one')), say('two'), say('three')] }),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    await burst(session);
    gate.open();
    await session.until('root', ({ is_final, step }) => is_final && step > 1);
    await expectWhole(session);
  });

  test('during a tool call and the model calls after it', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: ({ step }) => (step < 5 ? call('look') : say('done')),
      tools: { look: () => gate.opened.then(() => 'a file') },
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'tool');
    const sent = burst(session);
    gate.open();
    await sent;
    await untilAllHeard(session);
    await expectWhole(session);
    expect(outputs(await session.items(), 'look')).toEqual(Array.from({ length: 5 }, () => 'a file'));
  });

  test.each(['before it ends', 'as it ends'])('during a wait for agents, %s', async (when) => {
    const gate = new Gate();
    const session = await worker().start({
      script: (seen) => {
        if (seen.agent !== 'root') return gate.opened.then(() => say('found it'));
        if (seen.step === 0) return spawn('x');
        return seen.step === 1 ? waitForAll(seen) : say('done');
      },
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'agents');
    const sent = burst(session);
    if (when === 'before it ends') await sent;
    gate.open();
    await sent;
    await untilAllHeard(session);
    await expectWhole(session);
    const waits = outputs(await session.items(), 'wait');
    expect(waits.length).toBeGreaterThan(0);
    expect((await session.tree()).agents).toHaveLength(2);
  });

  test.each(['before it ends', 'as it ends'])('during a compaction, %s', async (when) => {
    const gate = new Gate();
    const session = await worker().start({
      script: (seen) => {
        if (seen.summary) return gate.opened.then(() => say('what was seen'));
        return seen.step < 8 ? { ...call('look'), full: seen.step === 7 } : say('done');
      },
      tools: { look: () => 'x'.repeat(8_000) },
    });
    await session.until('root', ({ current_tool }) => current_tool === 'compaction');
    const sent = burst(session);
    if (when === 'before it ends') await sent;
    gate.open();
    await sent;
    await untilAllHeard(session);
    await expectWhole(session);
    expect(await session.eventsOf('conversation.compacted')).toHaveLength(1);
  });

  test('with the last answer of an agent, which goes on with it', async () => {
    const gate = new Gate();
    const session = await worker().start({
      script: ({ step }) => (step === 0 ? gate.opened.then(() => say('the last?')) : say('no')),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    gate.open();
    await burst(session);
    await untilAllHeard(session);
    await expectWhole(session);
  });
});

test.each([0, 100, 300])(
  'a burst %i ms after the last answer of a one-shot root: what the server takes is heard, kept, or said to be refused',
  async (delay) => {
    const gate = new Gate();
    const session = await worker().start({
      session: { one_shot: true },
      script: ({ step }) => (step === 0 ? gate.opened.then(() => say('the last?')) : say('no')),
    });
    await session.until('root', ({ waiting_for }) => waiting_for === 'model');
    gate.open();
    await new Promise((resolve) => setTimeout(resolve, delay));
    const taken = await burst(session);
    expect(await session.result()).toMatchObject({ status: 'completed' });
    const { state } = await session.agent().query<{ state: AgentCarry }>('snapshot');
    const waiting = state.inbox.waiting.flatMap((entry) =>
      entry.kind === 'input'
        ? entry.input.content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
        : [],
    );
    const kept = [...heardOfBurst(await session.items()), ...waiting];
    const refused = (await session.eventsOf('input.rejected')).length;
    const expected = await arrived(worker(), session);
    expect(expected).toHaveLength(taken);
    // Whatever comes once it is closing is refused, and nothing after that is heard.
    expect(kept).toEqual(expected.slice(0, expected.length - refused));
  },
);
