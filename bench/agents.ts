import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { AgentId } from '../protocol/index.ts';
import type { Stage } from './stage.ts';

/**
 * Milliseconds of a step with one model call and one read tool: from a request to the model to the next one. The first
 * steps of a session are left out, since they compile code.
 */
export async function stepTimes(stage: Stage, rounds: number, steps: number): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    let last = 0;
    await stage.session(({ answers }) => {
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
export async function fanOut(stage: Stage, children: number, steps: number): Promise<number> {
  const { ms, status } = await stage.session(
    ({ agent, answers }) => {
      if (agent.id.includes('/')) {
        return answers < steps
          ? { calls: [{ name: 'read_file', arguments: { path: 'small.txt' } }] }
          : { text: 'done' };
      }
      if (answers === 0) {
        const call = { name: 'spawn_agent', arguments: { message: 'read it' } };
        return { calls: Array.from({ length: children }, () => call) };
      }
      if (answers > 1) return { text: 'done' };
      const ids = Array.from({ length: children }, (_, index) => `default-${index + 1}`);
      return { calls: [{ name: 'wait', arguments: { ids, mode: 'all', timeout_ms: 1_800_000 } }] };
    },
    { limits: { max_threads: children } },
  );
  if (status !== 'completed') throw new Error(`fan-out ended ${status}`);
  return (children * steps * 1000) / ms;
}

/** Bytes of history a step, with outputs of 8 KB that compress like source code, or not at all. */
export async function historyBytes(stage: Stage, steps: number, kind: 'source' | 'random'): Promise<number> {
  const source = sourceCode();
  for (let index = 0; index < steps; index++) {
    const start = (index * 4_000) % Math.max(1, source.length - 8_000);
    const text = kind === 'random' ? randomLines() : source.slice(start, start + 8_000);
    writeFileSync(join(stage.folder, `output-${index}.txt`), text);
  }
  const { id } = await stage.session(({ answers }) =>
    answers < steps
      ? { calls: [{ name: 'read_file', arguments: { path: `output-${answers}.txt` } }] }
      : { text: 'done' },
  );
  const connection = await Connection.connect({ address: stage.address });
  const { historySize = 0 } = await new Client({ connection }).workflow.getHandle(id).describe();
  await connection.close();
  return historySize / steps;
}

/** 8 KB in lines, as `base64` prints bytes: six bits of each character cannot be compressed away. */
function randomLines(): string {
  return (
    randomBytes(5_920)
      .toString('base64')
      .match(/.{1,76}/g) ?? []
  ).join('\n');
}

/** This repository's own workflow code, as a model would read it. */
function sourceCode(): string {
  const folder = new URL('../workflows/', import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  return files.map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
