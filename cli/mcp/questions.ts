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
  sessionOf,
} from '../../protocol/index.ts';
import type { Workplace } from '../workplace.ts';
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

/** An approval as a question to the person behind the client. */
export function elicitation({ asking_id, role, tool, summary, reason }: Approval) {
  const by = tool === undefined ? role : `${role}, ${tool}`;
  return inputRequired.elicit({
    message: `${nameOf(asking_id)} (${by}) asks to: ${summary}\nWhy: ${reason}`,
    requestedSchema: answerSchema,
  });
}

/** An answer to the call that brings the question: a client of 2026-07-28 calls again, with what the person says. */
export function question(approval: Approval, progress: FollowProgress): InputRequiredResult {
  const state: FollowState = {
    session: sessionOf(approval.asking_id),
    approval: approval.approval_id,
    started_at: progress.startedAt,
    ...(progress.until === undefined ? {} : { until: progress.until }),
    dismissed: [...progress.dismissed],
  };
  return inputRequired({
    inputRequests: { [KEY]: elicitation(approval) },
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

/** Passes on what a call brings that goes on. One who turns the question away leaves it to others. */
export async function answered(
  { request }: Call,
  { place, id, closed }: OwnSession,
  state: FollowState,
): Promise<FollowProgress> {
  const { approval, started_at: startedAt, until } = state;
  const decision = decisionIn(request.inputResponses?.[KEY]);
  const dismissed = decision === undefined ? [...state.dismissed, approval] : state.dismissed;
  // Nothing waits in a session that has ended, and asking it would take a worker.
  if (decision !== undefined && !closed) await passOn(place, id, approval, decision);
  return { startedAt, until, dismissed, fresh: false };
}

/** Has an agent know what a person has decided, unless somebody else was quicker. */
export async function passOn(
  place: Workplace,
  session: SessionId,
  approvalId: string,
  decision: Decision,
): Promise<void> {
  try {
    await place.withAgent(session, 'answer', () =>
      place.link.reach((client) => client.decide(approvalId, decision)),
    );
  } catch (error) {
    if (!(error instanceof CadreError) || error.code !== 'approval_not_found') throw error;
  }
}

/** What a client answers to a question; undefined where that decides nothing. */
export function decisionIn(said: unknown): Decision | undefined {
  const answer = inputResponse({ [KEY]: said }, KEY);
  if (answer.kind !== 'elicit' || answer.action === 'cancel') return undefined;
  if (answer.action === 'decline') return 'deny';
  const parsed = answerSchema.required().safeParse(answer.content);
  return parsed.success ? parsed.data.decision : undefined;
}
