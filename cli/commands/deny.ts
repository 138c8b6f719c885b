import { decide } from '../decide.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';

/** Refuses a request; with --abort the turn that asked ends as well. */
export default function deny(
  invocation: Invocation,
  [request]: [string],
  { reason, abort }: { reason?: string; abort?: boolean },
): Promise<ExitCode> {
  return decide(
    invocation,
    request,
    abort === true ? 'abort' : 'deny',
    reason === undefined ? {} : { reason },
  );
}
