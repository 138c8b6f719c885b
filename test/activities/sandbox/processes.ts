import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The ids of living processes (no zombies) whose command line or environment contains the text. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Waits until the condition holds, looking again and again; false when the time is up. */
export async function eventually(holds: () => boolean, withinMs = 10_000): Promise<boolean> {
  for (let waited = 0; waited < withinMs; waited += 20) {
    if (holds()) return true;
    await sleep(20);
  }
  return holds();
}

/** A number for `sleep` that no other process has: it tells this test's processes from all others. */
export function uniqueSeconds(): string {
  return `98765.${Math.floor(Math.random() * 1e9)}`;
}
