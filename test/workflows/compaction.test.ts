import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ApprovalNeed,
  type ApprovalsView,
  behindSummary,
  countAnswers,
  type Item,
  type ItemsPage,
  textMessage,
} from '../../protocol/index.ts';
import { jsonBytes } from '../../workflows/carried-text.ts';
import { planCompaction } from '../../workflows/compaction.ts';
import { Conversation } from '../../workflows/conversation.ts';
import { eventually } from './eventually.ts';
import { Gate } from './gate.ts';
import { call, heard, never, type Say, type Seen, say, spawn } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

/** Looks so often, then says what it is to; with the last look its window is nearly full. */
const looking =
  (times: number, end: (seen: Seen) => Say | Promise<Say>, summary = 'what has been seen') =>
  (seen: Seen): Say | Promise<Say> => {
    if (seen.summary) return say(summary);
    if (seen.step >= times) return end(seen);
    return { calls: [{ name: 'look', args: { n: seen.step } }], full: seen.step === times - 1 };
  };
const look = { look: ({ args }: { args: Record<string, unknown> }) => `${args.n} ${'x'.repeat(8_000)}` };
const need: ApprovalNeed = { kind: 'command', summary: 'rm -r build', reason: 'untrusted', key: 'rm' };
const replacedItems = async (session: ScriptedSession): Promise<Item[]> => {
  const { replaced_in = [] } = await session.agent().query<ItemsPage>('items');
  const asked = replaced_in.map(({ run_id: run }) =>
    session.agent('root', run).query<ItemsPage, [unknown]>('items', { replaced: true }),
  );
  return (await Promise.all(asked)).flatMap(({ items }) => items);
};
const summaries = (items: readonly Item[]): string[] =>
  items.flatMap((item) => (item.type === 'summary' ? [item.text] : []));

describe.concurrent('a conversation that nearly fills the window of its model', () => {
  test('goes on from a summary, the task, the newest items, and how things stand', async () => {
    const script = looking(12, () => say('counted'));
    const session = await worker().start({ task: 'count to twelve', tools: look, script });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'counted', step: 13 });
    const [asked, last] = session.asked().slice(-2);
    expect(asked?.summary).toBe(true);
    // All that there was, and nothing but that.
    expect(asked?.items).toHaveLength(1 + 12 * 3);
    const shown = last?.items ?? [];
    expect(heard(shown)).toEqual(['count to twelve']);
    expect(summaries(shown)).toEqual([expect.stringContaining('what has been seen')]);
    expect(shown.at(-1)).toMatchObject({ type: 'tool_output', output: expect.stringMatching(/^11 x/) });
    expect(shown.length).toBeLessThan(15);

    const page = await session.agent().query<ItemsPage>('items');
    const replaced = await replacedItems(session);
    expect(page.compacted).toBe(replaced.length);
    expect(page.replaced_in).toEqual([{ run_id: expect.any(String), items: replaced.length }]);
    // Nothing is lost: what was replaced, and what stands behind the summary, is the whole.
    expect([...replaced, ...page.items.slice(behindSummary(page.items).index, -1)]).toEqual(asked?.items);
    expect(await session.eventsOf('conversation.compacted')).toMatchObject([
      { replaced: replaced.length, reason: 'window' },
    ]);
  });

  test('keeps the plan, open agents and approvals, handles and waiting input, whatever the summary says', async () => {
    const summarising = new Gate();
    const plan = [
      { step: 'look around', status: 'completed' as const },
      { step: 'paint the fence', status: 'in_progress' as const },
    ];
    const session = await worker().start({
      tools: {
        look: () => ({ output: 'y'.repeat(20_000), success: true, handle: 'h_77' }),
        update_plan: () => ({ output: 'ok', success: true, plan: { plan } }),
        act: () => ({ output: '', success: false, needs_approval: need }),
      },
      script: async (seen) => {
        if (seen.agent === 'default-1') return seen.step === 0 ? call('act') : say('never');
        if (seen.agent !== 'root') return say('ready');
        if (seen.summary) {
          await summarising.opened;
          return say('forgot about it');
        }
        if (seen.step === 0) return { calls: [{ name: 'update_plan' }, ...(spawn('a', 'b').calls ?? [])] };
        if (seen.step < 4) return { ...call('look'), full: seen.step === 3 };
        return say('done');
      },
    });
    await session.until('root', (view) => view.current_tool === 'compaction');
    await session.untilFinal('default-2');
    await eventually(async () => {
      expect((await session.agent().query<ApprovalsView>('approvals')).approvals).toHaveLength(1);
    });
    await session.send(`use green\n${'paint '.repeat(500)}`);
    await session.send({ message: 'and hurry', from: session.idOf('a-friend') });
    summarising.open();
    await session.until('root', (view) => view.is_final);
    const shown = session.asked().at(-1)?.items ?? [];
    const [summary = ''] = summaries(shown);
    expect(summary.split('\n')).toEqual([
      'forgot about it',
      '',
      'How things stand now:',
      'Plan:',
      '- completed: look around',
      '- in_progress: paint the fence',
      'Open sub-agents:',
      `- ${session.idOf('default-1')}: running`,
      `- ${session.idOf('default-2')}: completed`,
      'Stored outputs that were too long:',
      '- h_77',
      'Questions that wait for a person to approve:',
      `- ${session.idOf('default-1')}: command: rm -r build`,
      'Input that has come and is not read yet:',
      expect.stringMatching(/^- use green paint .*bytes left out.* paint$/),
      `- from ${session.idOf('a-friend')}: and hurry`,
    ]);
    // The whole of it follows.
    expect(heard(shown).join()).toContain('paint '.repeat(500));
  });

  test('keeps which commands go on, and not those that have ended', async () => {
    const held = [
      { id: 7, open: true },
      { id: 8, open: true },
      { id: 7, open: false },
    ];
    const session = await worker().start({
      tools: {
        ...look,
        act: ({ args }) => ({
          output: 'goes on',
          success: true,
          command_session: held[Number(args.n)] as (typeof held)[number],
        }),
      },
      script: (seen) => {
        if (seen.summary) return say('forgot about it');
        if (seen.step < held.length) return call('act', { n: seen.step });
        if (seen.step < 15) return { ...call('look', { n: seen.step }), full: seen.step === 14 };
        return say('done');
      },
    });
    await session.untilFinal();
    const [summary = ''] = summaries(session.asked().at(-1)?.items ?? []);
    const [, told = ''] = summary.split('Commands that go on (write_stdin):\n');
    expect(told.split('\n')[0]).toMatch(/^- session_id 8:/);
    expect(summary).not.toContain('session_id 7');
  });

  test('stays as it is, with a warning, where the summary cannot be had', async () => {
    const refused: Say = { fail: { code: 'model_refused', message: 'no summaries here' } };
    const script = looking(6, () => say('done'));
    const session = await worker().start({
      tools: look,
      script: (seen) => (seen.summary ? refused : script(seen)),
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'done' });
    expect(session.asked().at(-1)?.items).toHaveLength(1 + 6 * 3);
    expect(await session.eventsOf('warning')).toMatchObject([
      { text: expect.stringMatching(/compacted.*window.*no summaries here/) },
    ]);
  });

  test('is compacted when the model says that it takes no more', async () => {
    const script = looking(6, ({ items }) =>
      summaries(items).length === 0
        ? { fail: { code: 'context_full', message: 'maximum context length' } }
        : say('done'),
    );
    const session = await worker().start({
      tools: look,
      script: (seen) => (seen.summary ? say('s') : { ...(script(seen) as Say), full: false }),
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'done' });
    expect(await session.eventsOf('conversation.compacted')).toHaveLength(1);
  });

  test.each([
    [
      'is more than the model takes, too',
      { fail: { code: 'context_full', message: 'maximum context' } },
      /maximum/,
    ],
    ['has no text', say(''), /no text/],
  ] as const)('goes on without a summary, where that %s', async (_, refused, why) => {
    const script = looking(6, ({ items }) =>
      summaries(items).length === 0
        ? { fail: { code: 'context_full', message: 'maximum context length' } }
        : say('done'),
    );
    const session = await worker().start({
      task: 'look around',
      tools: look,
      script: (seen) => (seen.summary ? refused : { ...(script(seen) as Say), full: false }),
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'done' });
    const shown = session.asked().at(-1)?.items ?? [];
    expect(summaries(shown)).toEqual([expect.stringMatching(why)]);
    expect(heard(shown)).toEqual(['look around']);
    expect(await replacedItems(session)).toHaveLength(behindSummary(shown).replaced.items);
    expect(await session.eventsOf('warning')).toMatchObject([{ text: expect.stringMatching(why) }]);
    expect(await session.eventsOf('conversation.compacted')).toMatchObject([{ reason: 'full' }]);
  });

  test('stays as it is where the model takes no more, and the summary fails for another reason', async () => {
    const script = looking(6, () => ({ fail: { code: 'context_full', message: 'maximum context length' } }));
    const session = await worker().start({
      tools: look,
      script: (seen) =>
        seen.summary
          ? { fail: { code: 'model_refused', message: 'the key is wrong' } }
          : { ...(script(seen) as Say), full: false },
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'errored' });
    expect(session.asked().at(-1)?.items).toHaveLength(1 + 6 * 3);
    expect(await session.eventsOf('warning')).toMatchObject([
      { text: expect.stringMatching(/stays as it is.*the key is wrong/) },
    ]);
  });

  test('ends its turn with what the model says, where nothing can be replaced', async () => {
    const session = await worker().start({
      script: () => ({ fail: { code: 'context_full', message: 'maximum context length is 10' } }),
    });
    expect(await session.untilFinal()).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('maximum context length is 10'),
    });
  });

  test('can be interrupted while it is summarised, and stays as it is', async () => {
    let first = true;
    const script = looking(6, () => say('done'));
    const session = await worker().start({
      tools: look,
      script: (seen) => {
        if (!seen.summary || !first) return script(seen);
        first = false;
        return never();
      },
    });
    await session.until('root', (view) => view.current_tool === 'compaction');
    await session.agent().executeUpdate('interrupt', { args: [{}] });
    expect(await session.untilFinal()).toMatchObject({ status: 'interrupted' });
    await session.send('go on');
    expect(await session.untilFinal('root', 2)).toMatchObject({ status: 'completed', message: 'done' });
    const shown = session.asked().at(-1)?.items ?? [];
    expect(summaries(shown)).toHaveLength(1);
    expect(heard(shown).at(-1)).toBe('go on');
  });
});

describe.concurrent('a conversation that somebody wants to be compacted', () => {
  test('is, before the next model call, and again when it has grown', async () => {
    const session = await worker().start({
      tools: look,
      script: (seen) => {
        if (seen.summary) return say(`summary ${summaries(seen.items).length + 1}`);
        return seen.step % 5 < 4 ? call('look', { n: seen.step }) : say(`turn ${seen.turn}`);
      },
    });
    await session.untilFinal();
    for (const turn of [2, 3]) {
      await session.agent().executeUpdate('compact', { args: [{}] });
      await session.send(`again ${turn}`);
      await session.untilFinal('root', turn);
    }
    const compacted = await session.eventsOf('conversation.compacted');
    expect(compacted.map(({ reason }) => reason)).toEqual(['requested', 'requested']);
    const shown = session.asked().at(-1)?.items ?? [];
    // The second summary takes the place of the first.
    expect(summaries(shown)).toEqual([expect.stringContaining('summary 2')]);
    expect(heard(shown)).toEqual(['the task', 'again 2', 'again 3']);
    expect(behindSummary(shown).replaced).toMatchObject({ user_messages: 2 });
    expect(await replacedItems(session)).toHaveLength(behindSummary(shown).replaced.items);
  });

  test('stays as it is where that is short, and says so', async () => {
    const session = await worker().start({ script: () => say('hello') });
    await session.untilFinal();
    await session.agent().executeUpdate('compact', { args: [{}] });
    await session.send('more');
    await session.untilFinal('root', 2);
    expect(session.asked().some(({ summary }) => summary)).toBe(false);
    expect(await session.eventsOf('warning')).toMatchObject([
      { text: expect.stringMatching(/next to nothing/) },
    ]);
  });
});

const text = fc.integer({ min: 0, max: 6_000 }).map((length) => 'a'.repeat(length));
const answer = fc.record({ text, calls: fc.array(text, { maxLength: 3 }), thought: fc.boolean() });
const step = fc.oneof(
  text.map((said): Item[] => [textMessage(said)]),
  text.map((said): Item[] => [{ type: 'notice', text: said }]),
  answer.map(({ text: said, calls, thought }): Item[] => [
    ...(thought ? [{ type: 'reasoning', summary: 'hm' } as const] : []),
    { type: 'assistant_message', text: said },
    ...calls.map((_, n): Item => ({ type: 'tool_call', call_id: `c${n}`, name: 'look', arguments: '{}' })),
    ...calls.map((output, n): Item => ({ type: 'tool_output', call_id: `c${n}`, output, success: true })),
  ]),
);

test('for any conversation, what is kept begins between answers, and nothing is counted twice or left out', () => {
  const rounds = fc.array(fc.array(step, { minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(rounds, (parts) => {
      const conversation = new Conversation();
      const whole: Item[] = [];
      const gone: Item[] = [];
      for (const part of parts) {
        conversation.append(textMessage('go on'), ...part.flat());
        whole.push(textMessage('go on'), ...part.flat());
        const plan = planCompaction(conversation.items, conversation.bytes);
        if (plan === undefined) continue;
        const before = conversation.items.slice(behindSummary(conversation.items).index, plan.keepFrom);
        gone.push(...before);
        const size = conversation.bytes;
        conversation.replace(
          plan.keepFrom,
          plan.messages,
          { type: 'summary', text: '', replaced: plan.replaced },
          'run',
        );
        expect(conversation.bytes).toBeLessThan(size + 2_000);
        const { index, replaced } = behindSummary(conversation.items);
        const kept = conversation.items.slice(index);
        expect([...gone, ...kept]).toEqual(whole);
        expect(kept[0]?.type).not.toBe('tool_output');
        expect(replaced.items).toBe(gone.length);
        expect(replaced.answers + countAnswers(kept)).toBe(countAnswers(whole));
        expect(replaced.user_messages).toBe(gone.filter(({ type }) => type === 'user_message').length);
        expect(conversation.page(0, gone.length, 1e9, true).items).toEqual(gone);
        expect(conversation.items[0]).toEqual(textMessage('go on'));
        expect(jsonBytes(plan.messages)).toBeLessThan(50_000);
      }
    }),
    { numRuns: 200 },
  );
});
