import {
  type ApprovalRule,
  CadreError,
  type Decision,
  type SessionId,
  sessionOf,
} from '../protocol/index.ts';
import { atAgent } from './at-workplace.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { Invocation } from './invocation.ts';
import { decisionText } from './render/decision-text.ts';
import { savedText } from './render/saved-text.ts';
import { tellIfUnserved } from './serving/tell-if-unserved.ts';
import { saveRule } from './trust/saved-rules.ts';
import type { Workplace } from './workplace.ts';

/**
 * Answers a request by its id, such as `a0k3v9x2m4qd7/worker-1#p2`; the part before # may be a short name.
 *
 * @param options `always`: a rule is saved that allows the same in later sessions
 * @throws CadreError `usage` where no rule can say the same: nothing is decided then
 */
export async function decide(
  invocation: Invocation,
  request: string,
  decision: Decision,
  { reason, always = false }: { reason?: string; always?: boolean } = {},
): Promise<ExitCode> {
  const [asking = '', number] = request.split('#', 2);
  if (asking === '' || number === undefined || number === '') {
    throw new CadreError('approval_not_found', `There is no approval ${JSON.stringify(request)}.`, {
      hint: 'It looks like a0k3v9x2m4qd7/worker-1#p1; `cadre approvals` lists those that are open.',
    });
  }
  return atAgent(invocation, asking, async (place, id) => {
    const approval = `${id}#${number}`;
    const session = sessionOf(id);
    const rule = always ? await ruleOf(place, session, approval) : undefined;
    const { submission_id: _, ...decided } = await place.withAgent(session, 'answer', () =>
      place.link.client.decide(approval, decision, reason),
    );
    const { answers_too: others } = decided;
    const too = others.length === 0 ? [] : [`  also ${others.join(', ')}: they asked the same`];
    const saved = rule === undefined ? undefined : { rule, file: await keep(place.home, rule) };
    const said = saved === undefined ? [] : [savedText(saved)];
    const lines = [decisionText(decided), `  ${approval}`, ...too, ...said];
    invocation.output.result({ ...decided, ...(saved === undefined ? {} : { saved }) }, lines.join('\n'));
    await tellIfUnserved(invocation, place, session);
    return EXIT.done;
  });
}

/** Looked at before anything is decided: what cannot be a rule is not approved by mistake for something else. */
async function ruleOf(place: Workplace, session: SessionId, id: string): Promise<ApprovalRule> {
  const open = await place.withAgent(session, 'answer', (agent) => agent.approvals());
  const found = open.find(({ approval_id }) => approval_id === id);
  if (found === undefined) {
    throw new CadreError(
      'approval_not_found',
      `There is no open approval ${id}: it was decided, or never was.`,
      {
        hint: '`cadre approvals` lists those that are open.',
      },
    );
  }
  if (found.rule !== undefined) return found.rule;
  throw new CadreError('usage', `No rule can say what ${id} asks for, so nothing was decided.`, {
    hint: `${inItsPlace(found.kind)} Approve it once, or with --for-session.`,
  });
}

/** What allows in later sessions what is no command. */
function inItsPlace(kind: string): string {
  if (kind === 'mcp') {
    return 'A rule holds for commands; tools of an MCP server are allowed for good by tools_approved of [mcp_servers.NAME].';
  }
  if (kind === 'patch') {
    return 'A rule holds for commands; where patches may write without asking is set by sandbox.writable_roots.';
  }
  return 'A rule holds for one command in plain words.';
}

async function keep(home: string, rule: ApprovalRule): Promise<string> {
  try {
    return await saveRule(home, rule);
  } catch (error) {
    if (!(error instanceof CadreError)) throw error;
    throw new CadreError(
      error.code,
      `It is allowed for this session, and no rule was saved. ${error.message}`,
      {
        ...(error.hint === undefined ? {} : { hint: error.hint }),
        cause: error,
      },
    );
  }
}
