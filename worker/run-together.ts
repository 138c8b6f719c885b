import type { Worker } from '@temporalio/worker';

/** Several workers of one process, which live and end as one. */
export interface Together {
  /** Settles when all have stopped; rejects when one has failed, which stops the others. */
  readonly done: Promise<void>;
  /** Drains all of them at the same time. */
  stop(): void;
}

export function runTogether(workers: readonly Worker[]): Together {
  const stop = (): void => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const runs = workers.map((worker) => worker.run().finally(stop));
  return { done: allEnded(runs), stop };
}

async function allEnded(runs: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(runs)).find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
