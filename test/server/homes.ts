import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { ServerRecord } from '../../server/index.ts';

/** A CADRE_HOME of its own; after the test its servers are killed and it is gone. */
export function emptyHome(): string {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'cadre-server-')));
  onTestFinished(async () => {
    for (const pid of serverPids(home)) process.kill(pid, 'SIGKILL');
    await eventually(() => serverPids(home).length === 0);
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });
  return home;
}

/** The living server processes of a CADRE_HOME or of those below it, recorded or not; Linux alone. */
export function serverPids(home: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const args = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
        const place = `${readlinkSync(`/proc/${name}/cwd`)}/`;
        return args.includes('start-dev') && place.startsWith(`${home}/`);
      } catch {
        return false;
      }
    })
    .map(Number);
}

export async function killServer(home: string, { pid }: { pid: number }): Promise<void> {
  process.kill(pid, 'SIGKILL');
  await eventually(() => !serverPids(home).includes(pid));
}

/** Waits until it holds; throws when it does not within a time that no machine needs. */
export async function eventually(holds: () => boolean, withinMs = 30_000): Promise<void> {
  for (const end = Date.now() + withinMs; !holds(); ) {
    if (Date.now() > end) throw new Error(`not within ${withinMs} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const PROGRAM = fileURLToPath(new URL('./ensure-program.ts', import.meta.url));

/** `ensureServer` in a process of its own. */
export function ensureElsewhere(home: string): { child: ChildProcess; record: Promise<ServerRecord> } {
  const child = spawn(process.execPath, [PROGRAM, home], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const record = new Promise<ServerRecord>((resolve, reject) => {
    let output = '';
    child.stdout?.on('data', (chunk) => {
      output += chunk;
    });
    child.once('close', (code, signal) => {
      if (code === 0) resolve(JSON.parse(output));
      else reject(new Error(`it ended with ${signal ?? code}`));
    });
  });
  record.catch(() => {});
  return { child, record };
}
