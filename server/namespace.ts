import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';

/** How long closed agents can be looked at and resumed. */
const RETENTION_SECONDS = 30 * 24 * 3600;
const ATTEMPT_MS = 2_000;
const POLL_MS = 30;

/** Waits until the server answers, then sets what its own options cannot: how long it keeps what is closed. */
export async function prepareNamespace(address: string, withinMs: number): Promise<void> {
  const end = Date.now() + withinMs;
  for (;;) {
    try {
      return await setRetention(address);
    } catch (error) {
      if (Date.now() >= end) throw error;
      await sleep(POLL_MS);
    }
  }
}

async function setRetention(address: string): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: ATTEMPT_MS });
  try {
    await connection.withDeadline(Date.now() + ATTEMPT_MS, async () => {
      const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
      const kept = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
      if (kept === RETENTION_SECONDS) return;
      await connection.workflowService.updateNamespace({
        namespace: 'default',
        config: { workflowExecutionRetentionTtl: { seconds: RETENTION_SECONDS as never } },
      });
    });
  } finally {
    await connection.close();
  }
}
