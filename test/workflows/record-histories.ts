import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { CadreClient } from '../../client/index.ts';
import manifest from '../../package.json' with { type: 'json' };
import { ensureServer, stopServer } from '../../server/index.ts';
import { type Connections, connect, disconnect } from './connect.ts';
import { eventually } from './eventually.ts';
import { isRecorded, record } from './recorded-histories.ts';
import { lives, type Stage } from './recorded-lives.ts';
import { ScriptedWorker } from './scripted-worker.ts';
import { expectSoundHistories } from './with-worker.ts';

/** Not a test: `npm run record-histories` plays every kind of life and keeps what Temporal wrote down of it. */
const { version } = manifest;
/** After so many events an agent whose runs are to be short wants a new one. */
const EVENTS = 40;
vi.setConfig({ testTimeout: 120_000 });

if (isRecorded(version)) {
  throw new Error(
    `test/histories/${version} is there already, and what was released stays as it was recorded. ` +
      'Delete the folder only if that version is not out yet; see "Changing workflow code" in CONTRIBUTING.md.',
  );
}
let home: string;
let stages: { long: Opened; short: Opened };

type Opened = Stage & { connections: Connections };

async function open(address: string): Promise<Opened> {
  const connections = await connect(address);
  const worker = new ScriptedWorker(connections);
  await worker.run();
  return { connections, worker, cadre: await CadreClient.connect({ address }) };
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'cadre-test-home-'));
  const { address } = await ensureServer({
    home,
    extraArgs: ['--dynamic-config-value', `limit.historyCount.suggestContinueAsNew=${EVENTS}`],
  });
  stages = { long: await open(inject('temporalAddress')), short: await open(address) };
});
afterAll(async () => {
  for (const { worker, cadre, connections } of Object.values(stages)) {
    await worker.stop();
    await expectSoundHistories(worker);
    await cadre.close();
    await disconnect(connections);
  }
  await stopServer(home);
  await rm(home, { recursive: true, force: true });
});

test.each(Object.entries(lives))('%s', async (name, life) => {
  const stage = life.shortRuns === true ? stages.short : stages.long;
  for (const [index, session] of (await life.play(stage)).entries()) {
    const folder = `${version}/${name}${index === 0 ? '' : `-${index + 1}`}`;
    for (const { workflowId, runId, number } of await closedRuns(stage, session)) {
      const history = await stage.worker.client.workflow.getHandle(workflowId, runId).fetchHistory();
      const agent =
        workflowId === session ? 'root' : workflowId.slice(session.length + 1).replaceAll('/', '.');
      expectNoMachine(record(`${folder}/${agent}.${number}.json.gz`, history));
    }
  }
});

interface RunOfSession {
  workflowId: string;
  runId: string;
  /** From 1, in the order in which an agent had them. */
  number: number;
}

/** All runs of all agents of a session, of every life that they had, once all have ended. */
function closedRuns({ worker }: Stage, session: string): Promise<RunOfSession[]> {
  return eventually(async () => {
    const query = `WorkflowId = '${session}' OR WorkflowId STARTS_WITH '${session}/'`;
    const runs = [];
    for await (const run of worker.client.workflow.list({ query })) runs.push(run);
    expect(runs.map(({ status }) => status.name)).not.toContain('RUNNING');
    expect(runs).not.toEqual([]);
    const counts = new Map<string, number>();
    return runs
      .sort((a, b) => a.startTime.getTime() - b.startTime.getTime())
      .map(({ workflowId, runId }) => {
        const number = (counts.get(workflowId) ?? 0) + 1;
        counts.set(workflowId, number);
        return { workflowId, runId, number };
      });
  });
}

/** Payloads that are not compressed are base64. What is too short a name stands everywhere. */
function expectNoMachine(text: string): void {
  const payloads = [...text.matchAll(/"data":"([^"]*)"/g)].map(([, data = '']) =>
    Buffer.from(data, 'base64'),
  );
  const readable = [text, ...payloads.map((data) => data.toString())].join('\n');
  const repository = fileURLToPath(new URL('../..', import.meta.url));
  for (const word of [hostname(), repository, home, 'cadre-test-', process.env.HOME ?? hostname()]) {
    if (word.length > 3) expect(readable).not.toContain(word);
  }
}
