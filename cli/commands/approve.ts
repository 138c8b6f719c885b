import { decide } from '../decide.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';

/** Allows a request: once, for the rest of the session, or with --always by a rule that later sessions have, too. */
export default function approve(
  invocation: Invocation,
  [request]: [string],
  { forSession, always }: { forSession?: boolean; always?: boolean },
): Promise<ExitCode> {
  const decision = forSession === true || always === true ? 'approve_for_session' : 'approve';
  return decide(invocation, request, decision, { always: always === true });
}
