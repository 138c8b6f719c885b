import { describe, expect, test } from 'vitest';
import { type Item, limitsSchema } from '../../protocol/index.ts';
import { call, heard, lastOutput, lines, say, spawn, wait, waitForAll } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

const outputText = (items: readonly Item[]): string =>
  items.flatMap((item) => (item.type === 'tool_output' ? [item.output] : [])).at(-1) ?? '';
/** Not to be compressed to nothing. */
const noise = (length: number, seed: number): string => {
  let state = seed + 1;
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return String.fromCharCode(33 + (state % 90));
  }).join('');
};

describe.concurrent('the output of a wait', () => {
  test('is cut in each message, within the limit, and the whole of each is stored', async () => {
    const session = await worker().start({
      limits: limitsSchema.parse({ tool_output_limit: 1_000 }),
      script: lines({
        root: [spawn('a', 'b', 'c'), waitForAll, say('ok')],
        'default-1': [say('short')],
        'default-2': [say(`begin2 ${'é'.repeat(30_000)} end2`)],
        'default-3': [say(`begin3 ${'x'.repeat(50_000)} end3`)],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    const output = outputText(items);
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(4_000);
    expect(Buffer.byteLength(output)).toBeGreaterThan(3_000);
    const { status } = lastOutput(items, 'wait');
    expect(status[session.idOf('default-1')]).toEqual({ completed: 'short' });
    const second = status[session.idOf('default-2')].completed;
    const third = status[session.idOf('default-3')].completed;
    expect(second).toMatch(
      /^begin2 é+\n\[… \d+ of 60012 bytes left out; stored as h_\d \(handle_read reads it\) …\]\né+ end2$/,
    );
    expect(third).toMatch(
      /^begin3 x+\n\[… \d+ of 50012 bytes left out; stored as h_\d \(handle_read reads it\) …\]\nx+ end3$/,
    );
    const [, handle = ''] = /stored as h_(\d)/.exec(third) ?? [];
    expect(session.stored[Number(handle)]).toBe(`begin3 ${'x'.repeat(50_000)} end3`);
  });

  test('of eight agents with 533 KB each is taken, and so are their reports', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn(...'12345678'), waitForAll, say('ok')],
        '*': [({ agent }) => say(`${agent} ${noise(533_000, Number(agent.at(-1)))}`)],
      }),
    });
    expect(await session.untilFinal()).toMatchObject({ status: 'completed', message: 'ok' });
    const items = await session.items();
    expect(Buffer.byteLength(outputText(items))).toBeLessThanOrEqual(40_000);
    const { status } = lastOutput(items, 'wait');
    for (const name of [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `default-${n}`)) {
      expect(status[session.idOf(name)].completed).toMatch(
        new RegExp(
          `^${name} [^\\n]{2000,}\\n\\[… \\d+ of 533010 bytes left out; stored as h_\\d \\(handle_read reads it\\) …\\]\\n`,
        ),
      );
    }
    expect(session.stored).toHaveLength(8);
    const { agents } = await session.tree();
    expect(agents).toHaveLength(9);
  });

  test('on an agent that is not a child holds as much as on a child, and keeps its end', async () => {
    const session = await worker().start({
      script: lines({
        root: [spawn('say much', 'wait for it'), waitForAll, say('ok')],
        'default-1': [say(`begin ${'x'.repeat(20_000)} end`)],
        'default-2': [() => wait(['default-1']), ({ items }) => say(outputText(items))],
      }),
    });
    await session.untilFinal();
    const items = await session.items('default-2');
    expect(lastOutput(items, 'wait').status[session.idOf('default-1')]).toEqual({
      completed: `begin ${'x'.repeat(20_000)} end`,
    });
  });
});

test('a list of agents that is too long leaves the last ones out, says how many, and is JSON', async () => {
  const session = await worker().start({
    limits: limitsSchema.parse({ tool_output_limit: 250 }),
    script: lines({
      root: [spawn(...'123456'), waitForAll, call('list_active_agents'), say('ok')],
      '*': [({ items }) => say(`report on ${heard(items)[0]}`)],
    }),
  });
  await session.untilFinal();
  const items = await session.items();
  const list = lastOutput(items, 'list_active_agents');
  expect(Buffer.byteLength(outputText(items))).toBeLessThanOrEqual(1_000);
  expect(list.agents.length).toBeGreaterThan(0);
  expect(list.left_out).toBe(`${6 - list.agents.length} of 6 agents; stored as h_0 (handle_read reads it)`);
  expect(JSON.parse(session.stored[0] ?? '').agents).toHaveLength(6);
  expect(list.slots).toEqual({ used: 0, max: 12 });
});

test('events hold the beginnings of long texts, so that none of them push the others out', async () => {
  const session = await worker().start({
    script: lines({
      root: [spawn(...'12345678'), waitForAll, say('ok')],
      '*': [() => say('x'.repeat(50_000))],
    }),
  });
  await session.untilFinal();
  const events = await session.events();
  expect(events[0]).toMatchObject({ seq: 1, type: 'session.started' });
  const [ended] = await session.eventsOf('agent.wait.end');
  expect(Object.keys(ended?.statuses ?? {})).toHaveLength(8);
  expect(JSON.stringify(ended).length).toBeLessThan(20_000);
  const [said] = await session
    .eventsOf('message', 'default-1')
    .then((all) => all.filter(({ role }) => role === 'assistant'));
  expect(said?.text).toBe(`${'x'.repeat(4_000)}…`);
});
