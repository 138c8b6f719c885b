import { describe, expect, test } from 'vitest';
import { call, heard, lastOutput, lines, say, waitForAll } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();

describe.concurrent('fork_context', () => {
  test('the child goes on from the parent’s items, then learns where it stands, then its task', async () => {
    const session = await worker().start({
      tools: { look: () => 'x'.repeat(2_000) },
      script: lines({
        root: [
          { text: 'I look', calls: [{ name: 'look' }] },
          {
            text: 'I fork',
            calls: [{ name: 'spawn_agent', args: { message: 'do this', fork_context: true } }],
          },
          waitForAll,
          say('ok'),
        ],
        'default-1': [say('x'), say('x'), say('done')],
      }),
    });
    await session.untilFinal();
    const [asked] = session.asked('default-1');
    const parents = session.asked().at(-1)?.items ?? [];
    expect(asked?.items.slice(0, 4)).toEqual(parents.slice(0, 4));
    expect(asked?.items.slice(4).map((item) => item.type)).toEqual(['notice', 'user_message']);
    expect(heard(asked?.items ?? [])).toEqual([
      'the task',
      expect.stringContaining(`you are ${session.idOf('default-1')}`),
      'do this',
    ]);
    expect(lastOutput(await session.items(), 'spawn_agent')).toEqual({
      agent_id: session.idOf('default-1'),
      context_mode: 'forked',
      items_carried: 4,
    });
  });

  test('without it the child starts afresh', async () => {
    const session = await worker().start({
      script: lines({
        root: [call('spawn_agent', { message: 'do this', fork_context: false }), waitForAll, say('ok')],
        'default-1': [say('done')],
      }),
    });
    await session.untilFinal();
    expect(heard(session.asked('default-1')[0]?.items ?? [])).toEqual(['do this']);
    expect(lastOutput(await session.items(), 'spawn_agent')).toEqual({ agent_id: session.idOf('default-1') });
  });
});
