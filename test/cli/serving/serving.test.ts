import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { isServed, type LocalSession, Serving, serveWhileNeeded } from '../../../cli/serving/serving.ts';
import { CadreError } from '../../../protocol/errors.ts';
import { ProcessLock } from '../../../server/process-lock.ts';
import { folderWith } from '../../support/folders.ts';

const WAIT = { timeout: 20_000, interval: 20 };

/** Workers that only remember that they were started and stopped. */
class FakeWorkers {
  readonly started: { queue: string; workflowsOnly: boolean }[] = [];
  readonly troubles: string[] = [];
  stopped = 0;
  generationNow = 0;
  /** What the next starts throw. */
  failures: Error[] = [];
  #break: ((error: Error) => void) | undefined;

  readonly surroundings = {
    startWorker: async (queue: string, { workflowsOnly }: { workflowsOnly: boolean }) => {
      this.started.push({ queue, workflowsOnly });
      const failure = this.failures.shift();
      if (failure !== undefined) throw failure;
      let end = (): void => {};
      const done = new Promise<void>((resolve, reject) => {
        end = resolve;
        this.#break = reject;
      });
      return {
        queue,
        queues: [queue],
        done,
        stop: async () => {
          this.stopped++;
          end();
          await done;
        },
      };
    },
    generation: () => this.generationNow,
    trouble: (message: string) => void this.troubles.push(message),
  };

  /** The running worker fails. */
  break(error: Error): void {
    this.#break?.(error);
  }
}

function session(): LocalSession {
  return { queue: 'cadre-local/a0k3v9x2m4qd7', lockPath: join(folderWith(), 'session.lock') };
}

test('a command serves a session that nobody serves, while it runs', async () => {
  const local = session();
  const workers = new FakeWorkers();
  const answer = await serveWhileNeeded(local, 'act', workers.surroundings, async () => {
    await vi.waitUntil(() => workers.started.length === 1, WAIT);
    expect(await isServed(local)).toBe(true);
    return 'done';
  });
  expect(answer).toBe('done');
  expect(workers.started).toEqual([{ queue: local.queue, workflowsOnly: false }]);
  expect(workers.stopped).toBe(1);
  expect(await isServed(local)).toBe(false);
});

test('a queued session is served by nobody here', async () => {
  const workers = new FakeWorkers();
  expect(await serveWhileNeeded(undefined, 'act', workers.surroundings, async () => 1)).toBe(1);
  expect(workers.started).toEqual([]);
});

test('a session that somebody serves is left to them, and taken over when they are gone', async () => {
  const local = session();
  const lock = await ProcessLock.acquire(local.lockPath);
  const workers = new FakeWorkers();
  await serveWhileNeeded(local, 'act', workers.surroundings, async () => {
    await sleep(1_200);
    expect(workers.started).toEqual([]);
    await lock?.release();
    await vi.waitUntil(() => workers.started.length === 1, WAIT);
  });
});

test('a command that only asks begins no work and takes no lock', async () => {
  const local = session();
  const workers = new FakeWorkers();
  await serveWhileNeeded(local, 'answer', workers.surroundings, async () => {
    await vi.waitUntil(() => workers.started.length === 1, WAIT);
    expect(await isServed(local)).toBe(false);
  });
  expect(workers.started).toEqual([{ queue: local.queue, workflowsOnly: true }]);
});

test('the failure of the action is the failure of the command, and the work ends with it', async () => {
  const local = session();
  const workers = new FakeWorkers();
  const failing = serveWhileNeeded(local, 'act', workers.surroundings, async () => {
    await vi.waitUntil(() => workers.started.length === 1, WAIT);
    throw new Error('the action');
  });
  await expect(failing).rejects.toThrow('the action');
  expect(await isServed(local)).toBe(false);
});

test('a worker that fails is started again', async () => {
  const workers = new FakeWorkers();
  const serving = new Serving(session(), 'act', workers.surroundings);
  await vi.waitUntil(() => serving.isWorking, WAIT);
  workers.break(new Error('lost'));
  await vi.waitUntil(() => workers.started.length === 2, WAIT);
  expect(workers.troubles.join()).toContain('lost');
  await serving.stop();
});

test('a worker that never starts ends the command with its reason', async () => {
  const workers = new FakeWorkers();
  workers.failures = Array.from({ length: 5 }, () => new Error('no bundle'));
  const never = new Promise<never>(() => {});
  await expect(serveWhileNeeded(session(), 'act', workers.surroundings, () => never)).rejects.toThrow(
    'no bundle',
  );
});

test('a server that is away is waited for, however long', async () => {
  const workers = new FakeWorkers();
  workers.failures = Array.from({ length: 6 }, () => new CadreError('temporal_unreachable', 'away'));
  const serving = new Serving(session(), 'act', workers.surroundings);
  await vi.waitUntil(() => serving.isWorking, WAIT);
  expect(workers.started).toHaveLength(7);
  await serving.stop();
});

test('a server that came back elsewhere gets a new worker', async () => {
  const workers = new FakeWorkers();
  const serving = new Serving(session(), 'act', workers.surroundings);
  await vi.waitUntil(() => serving.isWorking, WAIT);
  workers.generationNow++;
  await vi.waitUntil(() => workers.started.length === 2, WAIT);
  expect(workers.stopped).toBe(1);
  await serving.stop();
});

test('stopping twice, or before anything began, does no harm', async () => {
  const serving = new Serving(session(), 'act', new FakeWorkers().surroundings);
  await Promise.all([serving.stop(), serving.stop()]);
  await serving.stop();
});
