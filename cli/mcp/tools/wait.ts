import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { isMissing } from '../../../client/is-missing.ts';
import {
  type AgentId,
  type Approval,
  type ErrorBody,
  type SessionId,
  sessionOf,
} from '../../../protocol/index.ts';
import { atAgents } from '../../at-workplace.ts';
import { type Final, statusesOf, waitForAgents } from '../../wait-for-agents.ts';
import type { Workplace } from '../../workplace.ts';
import { AskedPerson } from '../asked-person.ts';
import { type Answer, type Call, defineMcpTool, toolError } from '../define-mcp-tool.ts';
import { answered, type FollowProgress, followState, question } from '../questions.ts';
import { approval, errorBody, notices, onApproval, reference, seconds } from '../schemas.ts';
import { SessionWatch } from '../watch-session.ts';

const text = z.string();
const wireStatus = z
  .union([
    z.enum(['pending_init', 'running', 'shutdown', 'not_found']),
    z.object({ completed: text }),
    z.object({ errored: text }),
    z.object({ interrupted: text }),
  ])
  .describe('A word, or an object with the answer or the reason: {"completed": "…"}');

export const waitTool = defineMcpTool({
  name: 'cadre_wait',
  title: 'Wait for agents',
  description: `Waits until the first of the agents is done (or all are) and returns what they have answered. Agents that are not done are left out of "status"; they go on, also when this call is cancelled or its time is up.`,
  input: z.strictObject({
    ids: z.array(reference).min(1).max(200),
    all: z.boolean().default(false).describe('Wait for all of them'),
    timeout_seconds: seconds.optional().describe('Return after this time'),
    on_approval: onApproval,
  }),
  output: z.looseObject({
    status: z.record(z.string(), wireStatus).describe('By id'),
    timed_out: z.boolean(),
    approvals: z.array(approval).optional().describe('What waits for an approval'),
    error: errorBody.optional().describe('Where there is none of the agents'),
    notices,
  }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  async run({ ids: references, all, timeout_seconds: seconds, on_approval: onApproval }, call) {
    const { invocation, progress, request, sessions } = call;
    const wait = await waitProgress(call, seconds);
    const final: Final = new Map();
    const waitFor = async (place: Workplace, found: AgentId[]): Promise<Answer | InputRequiredResult> => {
      const ids = [...new Set(found)];
      const named = [...final.keys(), ...ids];
      const stop = new AbortController();
      const cancel = (): void => stop.abort('signal');
      request.signal.addEventListener('abort', cancel);
      if (request.signal.aborted) cancel();
      let asked: Approval | undefined;
      const person = new AskedPerson(call, {
        place,
        dismissed: wait.dismissed,
        onQuestion: (approval) => {
          asked = approval;
          stop.abort('approval');
        },
        onUnanswered: () => {
          if (onApproval === 'return') stop.abort('approval');
        },
      });
      const watches = [...new Set(ids.map(sessionOf))].map((session) => {
        const onApprovals = (approvals: readonly Approval[]): void => person.heed(session, approvals);
        return new SessionWatch(place, { session, progress, fresh: false, onApprovals });
      });
      try {
        const timeout = wait.until === undefined ? undefined : Math.max(1, wait.until - Date.now());
        // One that is unknown is named in the answer, beside the others.
        const prepare = (session: SessionId): Promise<void> =>
          sessions.takeUp(place, session).catch(unlessMissing);
        const { timedOut } = await waitForAgents(place, { ids, all, timeout, prepare, stop }, final);
        person.leave();
        const status = statusesOf(named, final);
        const isOver = all ? named.every((id) => final.has(id)) : final.size > 0;
        if (asked !== undefined && !isOver && !timedOut) return question(asked, wait);
        const approvals = isOver || person.pending.length === 0 ? {} : { approvals: person.pending };
        const fields = { status, timed_out: timedOut, ...approvals };
        if (!named.every((id) => final.get(id) === 'not_found')) return { fields };
        const error = noneFound(named);
        return { fields: { ...fields, error }, error };
      } finally {
        request.signal.removeEventListener('abort', cancel);
        for (const watch of watches) watch.stop();
        person.leave();
      }
    };
    return atAgents(invocation, references, waitFor, (unknown) => final.set(unknown, 'not_found'));
  },
});

/** Of a wait that begins, or of one that goes on after a question. */
async function waitProgress(call: Call, seconds: number | undefined): Promise<FollowProgress> {
  const state = followState(call);
  if (state !== undefined) return answered(call, await call.sessions.find(state.session), state);
  const startedAt = Date.now();
  const timeout = seconds === undefined ? call.timeout : seconds * 1_000;
  const until = timeout === undefined ? undefined : startedAt + timeout;
  return { startedAt, until, dismissed: [], fresh: false };
}

function unlessMissing(error: unknown): void {
  if (!isMissing(error)) throw error;
}

function noneFound(ids: readonly string[]): ErrorBody {
  const which = ids.length === 1 ? `There is no agent ${ids[0]}` : `There are no agents ${ids.join(', ')}`;
  return toolError({ code: 'agent_not_found', message: `${which}.` });
}
