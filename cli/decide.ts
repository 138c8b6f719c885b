import { CadreError, type Decision, sessionOf } from '../protocol/index.ts';
import { atAgent } from './at-workplace.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { Invocation } from './invocation.ts';
import { decisionText } from './render/decision-text.ts';
import { tellIfUnserved } from './serving/tell-if-unserved.ts';

/** Answers a request by its id, such as `a0k3v9x2m4qd7/worker-1#p2`; the part before # may be a short name. */
export async function decide(
  invocation: Invocation,
  request: string,
  decision: Decision,
  reason?: string,
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
    const { submission_id: _, ...decided } = await place.withAgent(session, 'answer', () =>
      place.link.client.decide(approval, decision, reason),
    );
    const { answers_too: others } = decided;
    const too = others.length === 0 ? [] : [`  also ${others.join(', ')}: they asked the same`];
    invocation.output.result(decided, [decisionText(decided), `  ${approval}`, ...too].join('\n'));
    await tellIfUnserved(invocation, place, session);
    return EXIT.done;
  });
}
