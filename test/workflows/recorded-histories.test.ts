import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { type Connections, connect, disconnect } from './connect.ts';
import { PATIENCE } from './patience.ts';
import { notReplayed, type Recorded, recordedHistories } from './recorded-histories.ts';
import { lives } from './recorded-lives.ts';
import { call, lines, say } from './script.ts';
import { ScriptedWorker } from './scripted-worker.ts';
import { workflowBundle } from './test-bundle.ts';

// Each history takes a moment, and their number grows with every version.
vi.setConfig({ testTimeout: 180_000 * PATIENCE });

const WHAT_TO_DO =
  'Agents that were started before would stand still with this code. ' +
  'Put the change behind a field or a patch: see "Changing workflow code" in CONTRIBUTING.md.';

const recorded = recordedHistories();

test('what earlier versions have recorded replays with the workflows as they are', async () => {
  const failed = await notReplayed(await workflowBundle(), recorded);
  expect(
    failed.map(({ file, reason }) => `test/histories/${file}: ${reason}`),
    WHAT_TO_DO,
  ).toEqual([]);
});

test('input of before that names a sender who is none replays: it was taken then', async () => {
  const encoded = (payload: unknown) => Buffer.from(JSON.stringify(payload)).toString('base64');
  const [before = expect.fail('no history')] = recordedHistories('0.1.0/plain/root.1.json.gz');
  const text = JSON.stringify(before.history);
  const strange = text.replaceAll(encoded('go on'), encoded({ message: 'go on', from: 'a friend' }));
  expect(strange).not.toBe(text);
  const recorded = { ...before, history: JSON.parse(strange) };
  expect(await notReplayed(await workflowBundle(), [recorded])).toEqual([]);
});

test('every kind of life is recorded for this version, each chain of runs from its first to its last', () => {
  for (const life of Object.keys(lives)) {
    const runs = recorded.filter(({ file }) => file.startsWith(`${manifest.version}/${life}/`));
    expect(
      runs.map(({ file }) => file.split('/')[2]),
      `npm run record-histories: ${life}`,
    ).toContain('root.1.json.gz');
    const eventsOf = (type: string) =>
      runs.flatMap(({ history }) => history.events).filter(({ eventType }) => eventType === type);
    const begun = eventsOf('EVENT_TYPE_WORKFLOW_EXECUTION_STARTED').filter(
      ({ workflowExecutionStartedEventAttributes: started }) => started?.continuedExecutionRunId,
    );
    expect(begun).toHaveLength(eventsOf('EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW').length);
    if (lives[life]?.shortRuns === true) expect(begun.length).toBeGreaterThan(2);
  }
});

test('no file tells who recorded it, or where', () => {
  for (const { file, history } of recorded) {
    const text = JSON.stringify(history);
    expect(text, file).not.toMatch(/"identity":"(?!recorder")|"stackTrace":"[^"]|"\d+@/);
  }
});

describe('a change of workflow code', () => {
  let connections: Connections;
  beforeAll(async () => {
    connections = await connect();
  });
  afterAll(() => disconnect(connections));

  const plain = recordedHistories('*/plain/root.1.json.gz');

  /** The history of a session that runs with the change from its start. */
  async function recordedAfter(change: string): Promise<Recorded> {
    const worker = new ScriptedWorker(connections, { workflowBundle: await workflowBundle(change) });
    await worker.run();
    const session = await worker.start({
      session: { one_shot: true },
      tools: { look: () => 'a file' },
      script: lines({ root: [call('look'), say('ok')] }),
    });
    await session.result();
    await worker.stop();
    const history = JSON.parse(historyToJSON(await session.agent().fetchHistory()));
    return { file: 'after', workflowId: session.id, history };
  }

  test('behind a field of what an agent is started with replays both: the rollout of a session', async () => {
    const writes = (pattern: string) =>
      recordedHistories(pattern).map(({ history }) => JSON.stringify(history).includes('"write_rollout"'));
    expect(writes('0.1.0-before-rollouts/plain/*')).toEqual([false]);
    expect(writes('0.1.0/rollout/root.1.json.gz')).toEqual([true]);
    const both = recordedHistories('{0.1.0-before-rollouts/plain,0.1.0/rollout}/root.1.json.gz');
    expect(both).toHaveLength(2);
    expect(await notReplayed(await workflowBundle(), both)).toEqual([]);
  });

  test('that asks Temporal for something new is found: the file and the reason are named', async () => {
    const failed = await notReplayed(await workflowBundle('change-unpatched.ts'), plain);
    expect(failed.map(({ file }) => file)).toEqual(plain.map(({ file }) => file));
    expect(failed[0]?.reason).toMatch(/TMPRL1100.*Timer/);
  });

  test('behind patched() replays what was recorded before it and what was recorded after', async () => {
    const after = await recordedAfter('change-patched.ts');
    const types = after.history.events.map(({ eventType }) => eventType);
    expect(types).toContain('EVENT_TYPE_MARKER_RECORDED');
    expect(types).toContain('EVENT_TYPE_TIMER_STARTED');
    expect(await notReplayed(await workflowBundle('change-patched.ts'), [...plain, after])).toEqual([]);
    // So code of before cannot go on with it: a patch is no way back.
    expect(await notReplayed(await workflowBundle(), [after])).toHaveLength(1);
  });
});
