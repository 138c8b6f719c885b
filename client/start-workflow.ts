import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import {
  type AgentInput,
  CadreError,
  LARGE_MESSAGE_HINT,
  memoOf,
  modelQueue,
  searchAttributesOf,
  sizeProblem,
  WORKFLOW_TYPE,
} from '../protocol/index.ts';

/**
 * Starts the workflow of a root, for the first time or again.
 *
 * @throws CadreError `invalid_arguments` for a task that is too large, else the error of Temporal's client: `WorkflowExecutionAlreadyStartedError` where the id is taken
 */
export async function startRoot(client: Client, queue: string, input: AgentInput): Promise<void> {
  const { identity, settings, note, restore } = input;
  const problem = sizeProblem(input.input?.content ?? []);
  if (problem !== undefined) {
    throw new CadreError('invalid_arguments', `The task is ${problem}.`, { hint: LARGE_MESSAGE_HINT });
  }
  const models = settings.model_queue === true ? { model_queue: modelQueue(queue, settings.provider) } : {};
  await client.workflow.start(WORKFLOW_TYPE, {
    workflowId: identity.agent_id,
    taskQueue: queue,
    args: [input],
    workflowIdReusePolicy: restore?.kind === 'resume' ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
    memo: { ...memoOf(identity, note), source: identity.source.kind, ...models },
    typedSearchAttributes: searchAttributesOf(identity, settings).map(({ name, value }) =>
      typeof value === 'number'
        ? { key: defineSearchAttributeKey(name, SearchAttributeType.INT), value }
        : { key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value },
    ),
    staticSummary: `${settings.role}: ${identity.task.slice(0, 120)}`,
  });
}
