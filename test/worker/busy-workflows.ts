import { getExternalWorkflowHandle, sleep } from '@temporalio/workflow';

/** Has something left to do when it stands still, as on a machine that is busy with other things. */
export async function standing(ms: number): Promise<void> {
  void tellNobody();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  await sleep(1);
}

async function tellNobody(): Promise<void> {
  try {
    await Promise.resolve();
    await getExternalWorkflowHandle('nobody').signal('told');
  } catch {
    // There is nobody, or no workflow runs any more.
  }
}

/** Sends nothing to anybody. */
export async function sleeping(times: number): Promise<void> {
  for (let i = 0; i < times; i++) await sleep(250);
}
