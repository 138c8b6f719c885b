import type { Client } from '@temporalio/client';
import {
  CadreError,
  type DecideApproval,
  type Decision,
  type DecisionAnswer,
  isAgentId,
  sessionOf,
  UPDATES,
} from '../protocol/index.ts';
import { AgentLine } from './agent-line.ts';

/** What the root of a session answers where there is nothing to decide. */
const NOTHING_TO_DECIDE: readonly string[] = ['agent_not_found', 'agent_closed', 'approval_not_found'];

/** @throws CadreError `approval_not_found` for an approval that is unknown, or was decided */
export async function decideApproval(
  client: Client,
  approvalId: string,
  decision: Decision,
  reason?: string,
): Promise<DecisionAnswer> {
  const [asking = ''] = approvalId.split('#', 1);
  if (!isAgentId(asking) || asking === approvalId) throw unknownApproval(approvalId);
  const payload: DecideApproval = {
    approval_id: approvalId,
    decision,
    ...(reason === undefined ? {} : { reason }),
  };
  try {
    const root = new AgentLine(client, sessionOf(asking));
    return await root.update<DecisionAnswer>(UPDATES.decideApproval, payload);
  } catch (error) {
    if (!(error instanceof CadreError) || !NOTHING_TO_DECIDE.includes(error.code)) throw error;
    throw unknownApproval(approvalId, error);
  }
}

function unknownApproval(id: string, cause?: unknown): CadreError {
  return new CadreError(
    'approval_not_found',
    `There is no open approval ${id}: it was decided, or never was.`,
    {
      hint: '`cadre approvals` lists those that are open.',
      cause,
    },
  );
}
