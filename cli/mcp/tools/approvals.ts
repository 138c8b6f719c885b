import { z } from 'zod';
import { DECISIONS, type Decision } from '../../../protocol/index.ts';
import type { NotAsked } from '../../ask-sessions.ts';
import approvals from '../../commands/approvals.ts';
import { decide } from '../../decide.ts';
import { type Answer, type Call, defineMcpTool, toolError } from '../define-mcp-tool.ts';
import { approval, errorBody, notices, reference } from '../schemas.ts';
import { takeUp } from './agents.ts';

const approvalId = z.string().min(1).describe('Such as a0k3v9x2m4qd7/worker-1#p1, from cadre_approvals');

const decided = z.looseObject({
  approval_id: z.string(),
  asking_id: z.string(),
  role: z.string(),
  summary: z.string().describe('What was decided on'),
  decision: z.enum(DECISIONS),
  scope: z.string().optional().describe('How far an approval goes: once, or session'),
  answers_too: z.array(z.string()).describe('Others that asked the same'),
  notices,
});

export const approvalsTool = defineMcpTool({
  name: 'cadre_approvals',
  title: 'List pending approvals',
  description: 'Lists what waits for an approval: in a session, of one agent, or in every open session.',
  input: z.strictObject({ id: reference.optional() }),
  output: z.looseObject({
    approvals: z.array(approval),
    not_asked: z
      .array(z.looseObject({ session_id: z.string(), error: errorBody }))
      .optional()
      .describe('Sessions that did not answer'),
    notices,
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  async run({ id }, { invocation, output }) {
    await approvals(invocation, [id]);
    const { not_asked: notAsked, ...fields } = output.answer as { not_asked?: NotAsked[] };
    if (notAsked === undefined) return { fields };
    return {
      fields: { ...fields, not_asked: notAsked.map((one) => ({ ...one, error: toolError(one.error) })) },
    };
  },
});

export const approveTool = defineMcpTool({
  name: 'cadre_approve',
  title: 'Allow what an agent asks for',
  description:
    'Allows what an agent asks for, such as a command outside its sandbox. The decision belongs to the person for whom you act: show them the summary first, unless they have left it to you.',
  input: z.strictObject({
    approval_id: approvalId,
    for_session: z.boolean().default(false).describe('And the same for the rest of the session'),
  }),
  output: decided,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  run: ({ approval_id: id, for_session: forSession }, call) =>
    decideBy(call, id, forSession ? 'approve_for_session' : 'approve'),
});

export const denyTool = defineMcpTool({
  name: 'cadre_deny',
  title: 'Refuse what an agent asks for',
  description: 'Refuses what an agent asks for; it reads that, and goes on without.',
  input: z.strictObject({
    approval_id: approvalId,
    reason: z.string().min(1).optional().describe('Why, for the agent'),
    abort: z.boolean().default(false).describe('And stop its turn'),
  }),
  output: decided,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  run: ({ approval_id: id, reason, abort }, call) => decideBy(call, id, abort ? 'abort' : 'deny', reason),
});

async function decideBy(call: Call, id: string, decision: Decision, reason?: string): Promise<Answer> {
  const [agent = '', number] = id.split('#', 2);
  if (agent !== '' && number !== undefined) await takeUp(call, agent);
  await decide(call.invocation, id, decision, reason === undefined ? {} : { reason });
  return { fields: call.output.answer };
}
