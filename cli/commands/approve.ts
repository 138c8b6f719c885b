import { decide } from '../decide.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';

export default function approve(
  invocation: Invocation,
  [request]: [string],
  { forSession }: { forSession?: boolean },
): Promise<ExitCode> {
  return decide(invocation, request, forSession === true ? 'approve_for_session' : 'approve');
}
