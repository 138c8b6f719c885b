import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Agent, CadreClient } from '../../client/index.ts';
import { findProgram } from '../../server/find.ts';
import { cacheDir, ensureServer } from '../../server/index.ts';
import { type Answer, startModelServer } from '../support/model-server.ts';
import { CadreHome, playing, type Running, SCRIPTS } from './cadre-home.ts';
import { fails } from './failures.ts';
import { call } from './played-model.ts';

vi.setConfig({ testTimeout: 400_000 });

const run = promisify(execFile);
const home = new CadreHome();
let temporal = '';
let address = '';
let client: CadreClient;

beforeAll(async () => {
  temporal = (await findProgram({ cacheDir: cacheDir() })).path;
  // A server that wants a new run after so few events.
  const extraArgs = ['--dynamic-config-value', 'limit.historyCount.suggestContinueAsNew=40'];
  ({ address } = await ensureServer({ home: home.home, extraArgs }));
  client = await CadreClient.connect({ address });
});
afterAll(async () => {
  await client.close();
  await home.remove();
});

async function worker(build: string): Promise<Running> {
  const version = ['--deployment', 'team', '--build-id', build];
  const running = home.start(['worker', '--queue', 'agents', ...version], { env: { BUILD: build } });
  await running.says(new RegExp(`set-current-version --deployment-name team --build-id ${build}`));
  return running;
}

async function drained({ child, ended }: Running): Promise<void> {
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
}

/** As an operator does it, once workers of that build have come. */
async function makeCurrent(build: string, deployment = 'team'): Promise<void> {
  const version = ['--deployment-name', deployment, '--build-id', build, '--yes'];
  const set = () =>
    run(temporal, ['worker', 'deployment', 'set-current-version', ...version, '--address', address]).then(
      () => 'set',
      (error: { stderr: string }) => error.stderr,
    );
  await expect.poll(set, { timeout: 60_000, interval: 500 }).toBe('set');
}

function start(): Promise<Agent> {
  return client.start({
    task: 'session',
    queue: 'agents',
    settings: { model: 'script', provider: 'script', working_directory: home.newFolder('session') },
    session: { model_providers: { script: { script: join(SCRIPTS, 'versions.yaml') } } },
  });
}

async function answerOf(agent: Agent, turn: number): Promise<string | undefined> {
  const ended = async () => {
    const view = await agent.wait({ timeoutMs: 60_000 });
    return view?.turn === turn ? view.message : undefined;
  };
  await expect.poll(ended, { timeout: 60_000 }).toBeDefined();
  return ended();
}

test('half a version, and one without a queue, end a worker with 2', async () => {
  for (const args of [
    ['--queue', 'q', '--deployment', 'team'],
    ['--queue', 'q', '--build-id', '1'],
    ['--deployment', 'team', '--build-id', '1'],
  ]) {
    const { code, error } = await fails(home, ['worker', ...args]);
    expect(code).toBe(2);
    expect(error).toMatchObject({ code: 'usage', hint: expect.stringContaining('--build-id') });
  }
});

test('old and new workers side by side: a session stays with the build that it began on, in new runs of its workflow and with its children; new ones begin on the current build', async () => {
  const old = await worker('1');
  await makeCurrent('1');
  const early = await start();
  expect(await answerOf(early, 1)).toBe('1');
  const { run_id: firstRun } = await early.describe();

  const recent = await worker('2');
  await makeCurrent('2');
  const late = await start();
  expect(await answerOf(late, 1)).toBe('2');
  await early.send('go on');
  expect(await answerOf(early, 2)).toBe('1, its child 1');
  expect((await early.describe()).run_id).not.toBe(firstRun);
  await late.send('go on');
  expect(await answerOf(late, 2)).toBe('2, its child 2');

  // Brought back after it was closed it begins anew, and so on the current build.
  await early.close();
  await early.resume({ input: 'and now?' });
  expect(await answerOf(early, 3)).toBe('2');

  await drained(old);
  await drained(recent);
});

test('a closed session whose build has no workers any more is told as such, in time, to whoever asks for it or resumes it; one worker of that build is enough', async () => {
  const old = await worker('3');
  await makeCurrent('3');
  const session = await start();
  expect(await answerOf(session, 1)).toBe('3');
  await session.close();
  await drained(old);
  const recent = await worker('4');
  await makeCurrent('4');
  for (const args of [['status'], ['items'], ['resume'], ['wait', '--timeout', '50']]) {
    const [command = '', ...options] = args;
    const begun = Date.now();
    const { code, error } = await fails(home, [command, session.id, ...options, '--address', address]);
    expect(error).toMatchObject({ code: 'no_worker', retryable: true });
    expect(error.message).toContain(
      `${session.id}: it did not answer, and only workers of build 3 of team can`,
    );
    expect(error.hint).toContain('cadre worker --queue agents --deployment team --build-id 3');
    expect(code).toBe(69);
    // A question has 20 s; who waits asks three times.
    expect(Date.now() - begun).toBeLessThan(command === 'wait' ? 80_000 : 35_000);
  }
  const [listed] = await client.list({ session: session.id, all: true });
  expect(listed).toMatchObject({ closed: true, status: 'shutdown' });

  const back = await worker('3');
  expect(await session.status()).toMatchObject({ closed: true, status: 'shutdown' });
  await session.resume({ input: 'and now?' });
  expect(await answerOf(session, 2)).toMatch(/^4/);
  await drained(back);
  await drained(recent);
});

test('a queue whose workers are all of builds that are not current is told as such to whoever starts or asks a session; it begins once one is', async () => {
  const version = ['--deployment', 'late', '--build-id', '7'];
  const running = home.start(['worker', '--queue', 'late', ...version], { env: { BUILD: '7' } });
  await running.says(/Working for the queue/);
  const command = 'temporal worker deployment set-current-version --deployment-name late --build-id 7';
  const at = ['--address', address];
  const cwd = home.newFolder('late');
  const begun = () =>
    home.run(
      ['run', 'session', '--queue', 'late', '--timeout', '12', ...playing('versions.yaml'), ...at, '--json'],
      { cwd },
    );
  // Its workers are seen by the server once they have asked for work.
  await expect.poll(() => client.idleBuild('late'), { timeout: 60_000 }).toBeDefined();
  const { code, stderr, stdout } = await begun();
  expect(code).toBe(6);
  expect(stderr).toContain(`take up nothing new until a build of late is current: ${command}`);
  expect(stderr).not.toContain('the workers of its queue go on');
  const { session_id: id } = JSON.parse(stdout);

  const asked = await fails(home, ['status', id, ...at]);
  expect(asked).toMatchObject({ code: 69, error: { code: 'no_worker', retryable: true } });
  expect(asked.error.message).toContain('no build of late is current');
  expect(asked.error.hint).toContain(command);

  const set = command.split(' ').slice(1);
  await run(temporal, [...set, '--yes', '--address', address]);
  const agent = client.get(id);
  expect(await answerOf(agent, 1)).toBe('7');
  expect(await client.idleBuild('late')).toBeUndefined();
  expect((await agent.describe()).build).toEqual({ deployment: 'late', build: '7' });
  await drained(running);
});

test('a command that goes on is typed to where it is held, also with several workers of a build', async () => {
  const lines: ((outputs: readonly string[]) => Answer)[] = [
    () => call('exec_command', { cmd: 'echo holder=$WORKER; cat', tty: true, yield_time_ms: 1_000 }),
    ...Array.from({ length: 5 }, (_, i) => ([first = '']: readonly string[]) => {
      const session_id = Number(/session_id (\d+)/.exec(first)?.[1]);
      return call('write_stdin', { session_id, chars: `line ${i}\n`, yield_time_ms: 1_000 });
    }),
    () => ({ text: 'typed' }),
  ];
  const model = await startModelServer(
    ({ answers, outputs }) => lines[answers]?.(outputs) ?? { text: 'too many' },
  );
  const version = ['--deployment', 'typing', '--build-id', '1'];
  const workers = ['one', 'two'].map((WORKER) =>
    home.start(['worker', '--queue', 'typing', ...version], { env: { WORKER } }),
  );
  try {
    for (const running of workers) await running.says(/Working for the queue typing/);
    await makeCurrent('1', 'typing');
    const agent = await client.start({
      task: 'type',
      queue: 'typing',
      settings: {
        model: 'test-model',
        provider: 'local',
        working_directory: home.newFolder('typing'),
        sandbox_mode: 'danger-full-access',
      },
      session: { model_providers: { local: { base_url: model.url } } },
    });
    expect(await answerOf(agent, 1)).toBe('typed');
    expect((await agent.describe()).build).toEqual({ deployment: 'typing', build: '1' });
    const outputs = (model.requests.at(-1)?.items ?? []).flatMap((item) =>
      item.type === 'tool_output' ? [item.output] : [],
    );
    expect(outputs[0]).toMatch(/holder=(one|two)/);
    for (let i = 0; i < 5; i++) expect(outputs[i + 1]).toContain(`line ${i}`);
    await agent.close();
    for (const running of workers) await drained(running);
  } finally {
    await model.close();
  }
});
