import type { Client } from '@temporalio/client';

/** Bytes of all runs of a workflow: each run of one that continues as new has a history of its own. */
export async function historySize(client: Client, workflowId: string): Promise<number> {
  let sum = 0;
  for await (const { runId } of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    sum += (await client.workflow.getHandle(workflowId, runId).describe()).historySize ?? 0;
  }
  return sum;
}
