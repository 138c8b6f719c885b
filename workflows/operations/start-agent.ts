import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import {
  ChildWorkflowCancellationType,
  type ChildWorkflowHandle,
  ParentClosePolicy,
  startChild,
  type Workflow,
  type WorkflowIdReusePolicy,
} from '@temporalio/workflow';
import { memoOf, searchAttributesOf } from '../../protocol/agent-input.ts';
import type { AgentInput } from '../../protocol/index.ts';
import { WORKFLOW_TYPE } from '../../protocol/messages.ts';

/** Starts the workflow of an agent below this one, for the first time or again. */
export async function startAgentWorkflow(
  input: AgentInput,
  note: string | undefined,
  workflowIdReusePolicy: WorkflowIdReusePolicy,
): Promise<ChildWorkflowHandle<Workflow>> {
  const { identity, settings } = input;
  return startChild(WORKFLOW_TYPE, {
    workflowId: identity.agent_id,
    args: [input],
    // Continue-as-new of the parent applies this policy to its children, so any other would end them.
    parentClosePolicy: ParentClosePolicy.ABANDON,
    cancellationType: ChildWorkflowCancellationType.ABANDON,
    workflowIdReusePolicy,
    typedSearchAttributes: searchAttributesOf(identity, settings).map(({ name, value }) =>
      typeof value === 'number'
        ? { key: defineSearchAttributeKey(name, SearchAttributeType.INT), value }
        : { key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value },
    ),
    memo: memoOf(identity, note),
    staticSummary: `${settings.role}: ${identity.task.slice(0, 120)}`,
  });
}
