import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stopServer } from '../server/index.ts';
import { type ModelServer, startModelServer } from '../test/support/model-server.ts';

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

/** Milliseconds of `cadre --help`, from the start of the process to its end. */
export async function helpTimes(rounds: number): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const started = performance.now();
    await ended(spawn(process.execPath, [MAIN, '--help'], { stdio: 'ignore' }));
    times.push(performance.now() - started);
  }
  return times;
}

/** Milliseconds from `cadre run` to its first request to the model. */
export async function firstRequestTimes(rounds: number, server: 'running' | 'none'): Promise<number[]> {
  const home = mkdtempSync(join(tmpdir(), 'cadre-bench-cli-'));
  const times: number[] = [];
  try {
    // The first run fetches the server's program where there is none.
    await oneRun(home);
    for (let round = 0; round < rounds; round++) {
      if (server === 'none') await stopServer(home);
      times.push(await oneRun(home));
    }
    return times;
  } finally {
    await stopServer(home);
    rmSync(home, { recursive: true, force: true });
  }
}

async function oneRun(home: string): Promise<number> {
  let requested = 0;
  const model: ModelServer = await startModelServer(() => {
    requested ||= performance.now();
    return { text: 'done' };
  });
  const started = performance.now();
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    CADRE_HOME: home,
    OPENAI_BASE_URL: model.url,
    ...(process.env.CADRE_CACHE === undefined
      ? { XDG_CACHE_HOME: cacheHome() }
      : { CADRE_CACHE: process.env.CADRE_CACHE }),
  };
  await ended(spawn(process.execPath, [MAIN, 'run', 'say done'], { stdio: 'ignore', env }));
  await model.close();
  if (requested === 0) throw new Error('cadre run made no request to the model');
  return requested - started;
}

function cacheHome(): string {
  return process.env.XDG_CACHE_HOME ?? join(process.env.HOME ?? tmpdir(), '.cache');
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
}
