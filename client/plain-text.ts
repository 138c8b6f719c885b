import type { Client, WorkflowClientInterceptor } from '@temporalio/client';
import type { AgentId } from '../protocol/index.ts';
import { AgentLine } from './agent-line.ts';

/**
 * For a client without keys: what it sends to an agent would stand in Temporal in plain text. Where that agent's session
 * is sealed, it is not sent.
 *
 * @param client looks at the agent
 * @returns what throws a CadreError `key_missing` in place of such an update
 */
export function withholdPlainText(client: Client): WorkflowClientInterceptor {
  return {
    async startUpdate(input, next) {
      const { workflowId } = input.workflowExecution;
      await new AgentLine(client, workflowId as AgentId).describe();
      return next(input);
    },
  };
}
