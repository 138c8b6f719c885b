import { type InputRequiredResult, inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { z } from 'zod';
import {
  type Approval,
  agentIdSchema,
  CadreError,
  DECISIONS,
  type Decision,
  nameOf,
  type SessionId,
} from '../../protocol/index.ts';
import type { Call } from './define-mcp-tool.ts';
import type { OwnSession } from './own-sessions.ts';

/** How far a call is that follows a run, or waits. */
export interface FollowProgress {
  /** Epoch ms. */
  startedAt: number;
  /** Epoch ms at which the call is to return. */
  until?: number | undefined;
  /** Approvals that the person did not want to decide when asked. */
  dismissed: readonly string[];
  /** Whether it has only just begun. */
  fresh: boolean;
}

/**
 * Goes with a question to the client, and comes back with the answer. It opens nothing that other calls of the same
 * client do not, so it needs no seal.
 */
const stateSchema = z.strictObject({
  session: agentIdSchema,
  approval: z.string(),
  started_at: z.number(),
  until: z.number().optional(),
  dismissed: z.array(z.string()),
});
export interface FollowState extends z.output<typeof stateSchema> {
  session: SessionId;
}

const KEY = 'decision';
const answerSchema = z.object({
  decision: z
    .enum(DECISIONS)
    .default('approve')
    .describe(
      'approve: once; approve_for_session: the same for the rest of the session; abort: deny, and stop its turn',
    ),
});

/** Has the client put an approval to the person behind it; the call then begins again, with the answer. */
export function question(
  session: SessionId,
  approval: Approval,
  progress: FollowProgress,
): InputRequiredResult {
  const { approval_id, asking_id, role, tool, summary, reason } = approval;
  const state: FollowState = {
    session,
    approval: approval_id,
    started_at: progress.startedAt,
    ...(progress.until === undefined ? {} : { until: progress.until }),
    dismissed: [...progress.dismissed],
  };
  const by = tool === undefined ? role : `${role}, ${tool}`;
  return inputRequired({
    inputRequests: {
      [KEY]: inputRequired.elicit({
        message: `${nameOf(asking_id)} (${by}) asks to: ${summary}\nWhy: ${reason}`,
        requestedSchema: answerSchema,
      }),
    },
    requestState: JSON.stringify(state),
  });
}

/** Where a call goes on after a question; undefined for one that begins. */
export function followState({ request }: Call): FollowState | undefined {
  const sent = request.requestState();
  if (sent === undefined) return undefined;
  try {
    return stateSchema.parse(JSON.parse(String(sent)));
  } catch (error) {
    throw new CadreError('invalid_arguments', 'The requestState is not one that this server has given.', {
      cause: error,
    });
  }
}

/** Passes on what the person has answered. One who turns the question away leaves it to others. */
export async function answered(
  call: Call,
  { place, id }: OwnSession,
  state: FollowState,
): Promise<FollowProgress> {
  const decision = decisionIn(call);
  const dismissed = decision === undefined ? [...state.dismissed, state.approval] : state.dismissed;
  if (decision !== undefined) {
    await place
      .withAgent(id, 'answer', () => place.link.reach((client) => client.decide(state.approval, decision)))
      .catch((error: unknown) => {
        // Somebody else was quicker.
        if (!(error instanceof CadreError) || error.code !== 'approval_not_found') throw error;
      });
  }
  return { startedAt: state.started_at, until: state.until, dismissed, fresh: false };
}

function decisionIn({ request }: Call): Decision | undefined {
  const answer = inputResponse(request.inputResponses, KEY);
  if (answer.kind !== 'elicit' || answer.action === 'cancel') return undefined;
  if (answer.action === 'decline') return 'deny';
  const parsed = answerSchema.required().safeParse(answer.content);
  return parsed.success ? parsed.data.decision : undefined;
}
