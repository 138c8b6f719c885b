import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { registerSearchAttributes } from '../client/search-attributes.ts';
import { answers } from './record.ts';

/** How long closed agents can be looked at and resumed. */
const RETENTION_SECONDS = 30 * 24 * 3600;
const ATTEMPT_MS = 2_000;
const POLL_MS = 30;

/**
 * Waits until the server answers, then sets what its own options cannot: how long it keeps what is closed, and the
 * search attributes that a database made by an older version lacks.
 *
 * @returns version of the server
 */
export async function prepareNamespace(
  address: string,
  withinMs: number,
  signal: AbortSignal,
): Promise<string> {
  const end = Date.now() + withinMs;
  for (;;) {
    try {
      // A client that finds nobody waits a second before it looks again.
      if (await answers(address)) return await prepare(address);
      throw new Error(`nobody answers at ${address}`);
    } catch (error) {
      signal.throwIfAborted();
      if (Date.now() >= end) throw error;
      await sleep(POLL_MS);
    }
  }
}

async function prepare(address: string): Promise<string> {
  const connection = await Connection.connect({ address, connectTimeout: ATTEMPT_MS });
  try {
    return await connection.withDeadline(Date.now() + ATTEMPT_MS, async () => {
      const { workflowService } = connection;
      const { config } = await workflowService.describeNamespace({ namespace: 'default' });
      const kept = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
      if (kept !== RETENTION_SECONDS) {
        await workflowService.updateNamespace({
          namespace: 'default',
          config: { workflowExecutionRetentionTtl: { seconds: RETENTION_SECONDS as never } },
        });
      }
      // Everything works without them but the filters, and the next start tries again.
      await registerSearchAttributes(connection, 'default').catch(() => {});
      const { serverVersion } = await workflowService.getSystemInfo({});
      return serverVersion ?? 'unknown';
    });
  } finally {
    await connection.close();
  }
}
