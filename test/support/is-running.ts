import { readdirSync, readFileSync } from 'node:fs';

/**
 * As the system sees it, before the worker hears of it: what is only waiting to be buried runs no longer. Its first
 * thread may do so while others still end, and with them what it had open.
 */
export const isRunning = (pid: number): boolean => {
  try {
    const isBuried = /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return !isBuried || readdirSync(`/proc/${pid}/task`).length > 1;
  } catch {
    return false;
  }
};
