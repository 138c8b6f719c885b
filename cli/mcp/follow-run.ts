import type { InputRequiredResult } from '@modelcontextprotocol/server';
import type { SessionResult } from '../../client/types.ts';
import type { AgentView, Approval } from '../../protocol/index.ts';
import { summaryOf } from '../follow/report.ts';
import { AskedPerson } from './asked-person.ts';
import { type Answer, type Call, toolError } from './define-mcp-tool.ts';
import type { OwnSession } from './own-sessions.ts';
import { type FollowProgress, question } from './questions.ts';
import { SessionWatch } from './watch-session.ts';

/** Why following a run ends: with the session, or before it. */
type Outcome =
  | { kind: 'ended'; result: SessionResult }
  | { kind: 'timeout' | 'cancelled' | 'interrupted' | 'approvals' }
  | { kind: 'question'; approval: Approval };

interface RunWishes {
  on_approval: 'return' | 'wait';
}

/** Follows a session until it ends, or until the client has to do something about it. */
export async function followRun(
  { on_approval: onApproval }: RunWishes,
  call: Call,
  session: OwnSession,
  run: FollowProgress,
): Promise<Answer | InputRequiredResult> {
  const { progress, request, output } = call;
  const { id, place, closed } = session;
  let settle = (_outcome: Outcome): void => {};
  const before = new Promise<Outcome>((resolve) => {
    settle = resolve;
  });
  let seen: readonly AgentView[] = [];
  const person = new AskedPerson(call, {
    place,
    dismissed: run.dismissed,
    onQuestion: (approval) => settle({ kind: 'question', approval }),
    onUnanswered: () => {
      if (onApproval === 'return') settle({ kind: 'approvals' });
    },
  });
  const watch = new SessionWatch(place, {
    session: id,
    progress,
    fresh: run.fresh,
    closed,
    onTree: (agents) => {
      seen = agents;
      const [root] = agents;
      if (root?.status === 'interrupted' && !root.closed) settle({ kind: 'interrupted' });
    },
    onApprovals: (approvals) => person.heed(id, approvals),
  });
  const timer =
    run.until === undefined || closed
      ? undefined
      : setTimeout(() => settle({ kind: 'timeout' }), Math.max(0, run.until - Date.now()));
  const cancel = (): void => settle({ kind: 'cancelled' });
  request.signal.addEventListener('abort', cancel);
  if (request.signal.aborted) cancel();
  try {
    const end = session.end.then((result): Outcome => ({ kind: 'ended', result }));
    const outcome = await Promise.race([end, before]);
    watch.stop();
    person.leave();
    if (outcome.kind === 'question') return question(outcome.approval, run);
    if (outcome.kind === 'ended') {
      const { result } = outcome;
      const agents = await watch.lastLook((error) =>
        output.warn(`What is shown of the agents may not be their last: ${error}`),
      );
      const { error: problem, ...summary } = summaryOf(result, run.startedAt);
      const fields = { ...summary, agents: agents.map(brief), ...webOf(session) };
      if (problem === undefined) return { fields, text: result.output };
      const error = toolError(problem);
      return { fields: { ...fields, error }, text: `${error.message}\n${error.hint}`, error };
    }
    const { kind } = outcome;
    return { fields: { ...left(session, run, seen, kind, person.pending), ...webOf(session) } };
  } finally {
    watch.stop();
    person.leave();
    clearTimeout(timer);
    request.signal.removeEventListener('abort', cancel);
  }
}

function left(
  { id }: OwnSession,
  { startedAt }: FollowProgress,
  agents: readonly AgentView[],
  why: 'timeout' | 'cancelled' | 'interrupted' | 'approvals',
  approvals: readonly Approval[],
): Record<string, unknown> {
  const wait = `cadre_wait with ids ["${id}"]`;
  const next =
    why === 'interrupted'
      ? `Its turn was stopped: cadre_send gives it other input, cadre_close ends it.`
      : approvals.length > 0
        ? `It waits for an approval: answer with cadre_approve or cadre_deny, then ${wait} waits for its end.`
        : `It goes on; ${wait} waits for it again.`;
  return {
    session_id: id,
    status: why === 'interrupted' ? 'interrupted' : (agents[0]?.status ?? 'running'),
    duration_ms: Date.now() - startedAt,
    agents: agents.map(brief),
    ...(approvals.length === 0 ? {} : { approvals }),
    next,
  };
}

/** What whoever drives Cadre wants to know of an agent; `cadre_status` tells the rest. */
function brief({ agent_id, parent_id, role, status, usage }: AgentView) {
  const { total_tokens } = usage;
  return { agent_id, ...(parent_id === undefined ? {} : { parent_id }), role, status, total_tokens };
}

function webOf({ web }: OwnSession): { web?: string } {
  return web === undefined ? {} : { web };
}
