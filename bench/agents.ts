import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentId } from '../protocol/index.ts';
import type { Contender } from './contender.ts';
import type { Stage } from './stage.ts';

/**
 * Milliseconds of a step with one model call and one read tool: from a request to the model to the next one. The first
 * steps of a session are left out, since they compile code.
 */
export async function stepTimes(contender: Contender, rounds: number, steps: number): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    let last = 0;
    await contender.session(({ answers }) => {
      const now = performance.now();
      if (answers > 5) times.push(now - last);
      last = now;
      return answers < steps
        ? { calls: [{ name: 'read_file', arguments: { path: 'small.txt' } }] }
        : { text: 'done' };
    });
  }
  return times;
}

/** Milliseconds from an interrupt to the end of the process group of a command that sleeps. */
export async function interruptTimes(stage: Stage, rounds: number): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const pidFile = join(stage.folder, `pid-${round}`);
    let interrupted = false;
    await stage.session(
      () =>
        interrupted
          ? { text: 'done' }
          : { calls: [{ name: 'shell', arguments: { command: `echo $$ > ${pidFile}; sleep 60` } }] },
      {
        meanwhile: async (id) => {
          while (!existsSync(pidFile) || readFileSync(pidFile, 'utf8').trim() === '') await sleep(10);
          const pid = Number(readFileSync(pidFile, 'utf8'));
          const agent = stage.client.get(id as AgentId);
          const started = performance.now();
          interrupted = true;
          await agent.interrupt('bench');
          while (isAlive(pid)) await sleep(2);
          times.push(performance.now() - started);
          await agent.wait();
          await agent.close();
        },
      },
    );
  }
  return times;
}

/** Milliseconds from the model's answer that spawns a child to the child's first model request. */
export async function spawnTimes(stage: Stage, rounds: number): Promise<number[]> {
  const times: number[] = [];
  let spawned = 0;
  await stage.session(({ agent, answers }) => {
    if (agent.id.includes('/')) {
      times.push(performance.now() - spawned);
      return { text: 'done' };
    }
    if (answers >= 2 * rounds) return { text: 'done' };
    if (answers % 2 === 1) {
      const id = `default-${(answers + 1) / 2}`;
      return { calls: [{ name: 'wait', arguments: { ids: [id] } }] };
    }
    spawned = performance.now();
    return { calls: [{ name: 'spawn_agent', arguments: { message: 'say done' } }] };
  });
  return times;
}

/** Steps a second of many children at work at once, each taking some steps of one model call and one read tool. */
export async function fanOut(contender: Contender, children: number, steps: number): Promise<number> {
  const delegation = contender.delegation(children);
  const { ms, status } = await contender.session(
    (request) => {
      if (!contender.isChild(request)) return delegation[request.answers] ?? { text: 'done' };
      return request.answers < steps
        ? { calls: [{ name: 'read_file', arguments: { path: 'small.txt' } }] }
        : { text: 'done' };
    },
    { children },
  );
  if (status !== 'completed') throw new Error(`fan-out ended ${status}`);
  return (children * steps * 1000) / ms;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
