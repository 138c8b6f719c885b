import { describe, expect, test } from 'vitest';
import { limitsSchema } from '../../protocol/index.ts';
import { Gate } from './gate.ts';
import { call, lines, never, type Say, say, spawn, spawnAs, spawned, wait, waitForAll } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

/** Each step of a scripted model takes 15 tokens. */
const STEP = 15;

describe.concurrent('agents.max_tokens', () => {
  test('before a step that would use up the rest one more call without tools asks for a hand-back; the turn is errored, never completed', async () => {
    const session = await worker().start({
      limits: { max_tokens: 4 * STEP },
      tools: { look: () => 'seen' },
      script: ({ final }): Say => (final ? say('half of it') : call('look')),
    });
    const view = await session.untilFinal();
    expect(view.status).toBe('errored');
    expect(view.message).toContain('agents.max_tokens');
    expect(view.message).toContain('Handed back: half of it');
    expect(session.asked().map(({ final }) => final)).toEqual([false, false, false, true]);
  });

  test('a last report as large as the largest step has to fit in, too', async () => {
    const session = await worker().start({
      limits: { max_tokens: 3 * STEP + 4 },
      tools: { look: () => 'seen' },
      script: ({ final }): Say => (final ? say('half of it') : call('look')),
    });
    expect(await session.untilFinal()).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('Handed back: half of it'),
    });
    expect(session.asked().map(({ final }) => final)).toEqual([false, false, true]);
  });

  test('a step that jumps beyond the limit leaves no report, and what was said before does not pass for one', async () => {
    const session = await worker().start({
      limits: { max_tokens: 10 * STEP },
      tools: { look: () => 'seen' },
      script: ({ step }): Say => {
        if (step === 0) return say('the first answer');
        return {
          text: 'on my way',
          calls: [{ name: 'look' }],
          tokens: 44 * STEP,
        };
      },
    });
    await session.untilFinal();
    await session.send('more');
    const view = await session.untilFinal('root', 2);
    expect(view).toMatchObject({
      status: 'errored',
      message: `The limit of ${10 * STEP} tokens was reached: ${45 * STEP} are used (agents.max_tokens). What is kept for a last report is used up, too, so none was asked for. Last said in this turn: on my way`,
    });
    expect(session.asked().map(({ final }) => final)).toEqual([false, false]);
  });

  test('what an earlier turn has answered is not told as said in this one', async () => {
    const session = await worker().start({
      limits: { max_tokens: 10 * STEP },
      tools: { look: () => 'seen' },
      script: ({ step }): Say =>
        step === 0 ? say('the first answer') : { ...call('look'), tokens: 20 * STEP },
    });
    await session.untilFinal();
    await session.send('more');
    const view = await session.untilFinal('root', 2);
    expect(view.message).toMatch(/so none was asked for\.$/);
  });

  test('a report that does not come leaves it at the limit', async () => {
    const session = await worker().start({
      limits: { max_tokens: 4 * STEP },
      tools: { look: () => 'seen' },
      script: ({ final }): Say =>
        final
          ? { fail: { code: 'model_refused', message: 'not today' } }
          : { text: 'on my way', ...call('look') },
    });
    expect(await session.untilFinal()).toMatchObject({
      status: 'errored',
      message: expect.stringMatching(/agents\.max_tokens.*did not come: not today$/),
    });
    expect(await session.eventsOf('turn.failed')).toMatchObject([{ code: 'limit_tokens' }]);
  });

  test('all agents of a session draw on one budget', async () => {
    const session = await worker().start({
      limits: { max_tokens: 6 * STEP },
      tools: { look: () => 'seen' },
      script: ({ agent, step }): Say => {
        if (agent !== 'root') return call('look');
        return step === 0
          ? spawn('one', 'two')
          : call('wait', { ids: ['default-1', 'default-2'], mode: 'all' });
      },
    });
    await session.untilFinal();
    const { agents } = await session.tree();
    expect(agents.map(({ status }) => status)).toEqual(['errored', 'errored', 'errored']);
    const used = agents.reduce((sum, agent) => sum + agent.usage.total_tokens, 0);
    expect(used).toBeGreaterThanOrEqual(5 * STEP);
    expect(used).toBeLessThanOrEqual(6 * STEP);
  });

  test('a root with small steps reports what its children have found, though they use all they may', async () => {
    const session = await worker().start({
      limits: { max_tokens: 4_000 },
      tools: { look: () => 'seen' },
      script: (seen): Say => {
        const { agent, step, final } = seen;
        if (agent !== 'root') return { ...(final ? say('my part') : call('look')), tokens: 500 };
        if (final) return { ...say('all there is'), tokens: 100 };
        return { ...(step === 0 ? spawn('one', 'two') : (waitForAll(seen) as Say)), tokens: 100 };
      },
    });
    expect(await session.untilFinal()).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('Handed back: all there is'),
    });
    const { agents } = await session.tree();
    expect(agents.slice(1).map(({ message }) => message)).toEqual([
      expect.stringContaining('Handed back: my part'),
      expect.stringContaining('Handed back: my part'),
    ]);
    expect(agents.reduce((sum, agent) => sum + agent.usage.total_tokens, 0)).toBeLessThanOrEqual(4_000);
  });
});

describe.concurrent('a share of the tokens', () => {
  test('by agents.max_child_tokens bounds a child with all below it, and not the root', async () => {
    const session = await worker().start({
      limits: { max_child_tokens: 6 * STEP },
      tools: { look: () => 'seen' },
      script: (seen): Say => {
        const { agent, step, final } = seen;
        if (agent === 'default-1' && step === 0) return spawn('deeper');
        if (agent !== 'root') return final ? say('half of it') : { text: 'on my way', ...call('look') };
        if (step === 0) return spawn('one');
        if (step === 1) return waitForAll(seen) as Say;
        return step < 12 ? call('look') : say('all is well');
      },
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'all is well' });
    const [child, below] = [
      await session.untilFinal('default-1'),
      await session.status('default-1/default-1'),
    ];
    for (const view of [child, below]) {
      expect(view).toMatchObject({ status: 'errored', max_tokens: 6 * STEP });
      expect(view.message).toContain(
        `The limit of ${6 * STEP} tokens for ${session.idOf('default-1')} and all agents below it was reached`,
      );
      expect(view.message).toMatch(
        /max_child_tokens.*(Handed back: half of it|none was asked for\. Last said in this turn: on my way)/,
      );
    }
    const used = child.usage.total_tokens + below.usage.total_tokens;
    expect(used).toBeGreaterThanOrEqual(5 * STEP);
    expect(used).toBeLessThanOrEqual(6 * STEP);
    expect(await session.status()).not.toHaveProperty('max_tokens');
    expect(await session.eventsOf('turn.failed', 'default-1')).toMatchObject([{ code: 'limit_tokens' }]);
  });

  test('by a role leaves the rest of the session its tokens', async () => {
    const session = await worker().start({
      limits: { max_tokens: 100 * STEP },
      roles: { frugal: { limits: limitsSchema.parse({ max_tokens: 3 * STEP + 4 }) } },
      tools: { look: () => 'seen' },
      script: (seen): Say => {
        const { agent, step, final } = seen;
        if (agent !== 'root') return final ? say('half of it') : call('look');
        if (step === 0) return spawnAs('frugal');
        return step === 1 ? (waitForAll(seen) as Say) : say('ok');
      },
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', max_tokens: 100 * STEP });
    expect(await session.status('frugal-1')).toMatchObject({
      status: 'errored',
      message: expect.stringMatching(/frugal-1 and all .*max_tokens of its role.* Handed back: half of it/),
      usage: { total_tokens: 3 * STEP },
    });
  });
});

describe.concurrent('agents.max_wall_ms', () => {
  test('stops a turn that takes too long; what the agent said last is told, and not as a report', async () => {
    const session = await worker().start({
      limits: { max_wall_ms: 4_000 },
      tools: { act: never },
      script: lines({ root: [{ text: 'so far so good', calls: [{ name: 'act' }] }, say('again')] }),
    });
    expect(await session.untilFinal()).toMatchObject({
      status: 'errored',
      message: expect.stringMatching(
        /agents\.max_wall_ms.*No report was asked for\. Last said in this turn: so far so good/,
      ),
    });
    expect(await session.eventsOf('turn.failed')).toMatchObject([{ code: 'limit_wall' }]);
    await session.send('once more');
    expect(await session.until('root', (view) => view.turn === 2 && view.is_final)).toMatchObject({
      status: 'completed',
      message: 'again',
    });
  });
});

describe.concurrent('agents.max_runtime_ms', () => {
  test('ends an agent that sits idle, and not one whose agents still work', async () => {
    const session = await worker().start({
      limits: { max_runtime_ms: 3_000 },
      tools: { act: () => new Promise((resolve) => setTimeout(() => resolve('done'), 6_000)) },
      script: lines({
        root: [spawn('slow'), say('waiting'), waitForAll, say('ok')],
        '*': [call('act'), say('done')],
      }),
    });
    await session.untilFinal('default-1');
    const view = await session.until('root', (view) => view.closed);
    // What it has said is no failure for that nobody has asked it more.
    expect(view).toMatchObject({ status: 'completed', message: 'waiting' });
    expect(await session.eventsOf('warning')).toMatchObject([
      { text: expect.stringContaining('agents.max_runtime_ms') },
    ]);
    expect((await session.eventsOf('tool.end', 'default-1')).map(({ success }) => success)).toEqual([true]);
  });

  test('does not run while agents work below those of the agent, and runs when they have ended', async () => {
    const gate = new Gate();
    const session = await worker().start({
      roles: { hasty: { limits: limitsSchema.parse({ max_runtime_ms: 3_000 }) } },
      tools: { act: () => gate.opened.then(() => 'done') },
      script: lines({
        root: [spawnAs('hasty'), say('ok')],
        'hasty-1': [spawnAs('default'), ({ items }) => wait(spawned(items)), say('that is all')],
        'hasty-1/default-1': [spawn('deep'), say('on its way')],
        'hasty-1/default-1/default-1': [call('act'), say('done')],
      }),
    });
    await session.untilFinal('hasty-1');
    await session.until('hasty-1/default-1/default-1', ({ waiting_for }) => waiting_for === 'tool');
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    expect(await session.status('hasty-1')).toMatchObject({ status: 'completed', closed: false });
    gate.open();
    await session.untilFinal('hasty-1/default-1/default-1');
    expect(await session.until('hasty-1', (view) => view.closed)).toMatchObject({
      status: 'completed',
      message: 'that is all',
    });
    expect(await session.eventsOf('tool.end', 'hasty-1/default-1/default-1')).toMatchObject([
      { success: true },
    ]);
  });
});
