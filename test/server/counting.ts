/** Counts up a number in a file, so many times, each under a lock: FILE, ROUNDS. */
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProcessLock } from '../../server/process-lock.ts';

const [file = '', rounds = ''] = process.argv.slice(2);
await Promise.all(
  [1, 2].map(async () => {
    for (let round = 0; round < Number(rounds); ) {
      const lock = await ProcessLock.acquire(`${file}.lock`);
      if (lock !== undefined) {
        const before = Number(readFileSync(file, 'utf8'));
        await sleep(1);
        writeFileSync(file, String(before + 1));
        await lock.release();
        round++;
      } else await sleep(Math.random() * 5);
    }
  }),
);
