import type { ErrorBody, NotResumed } from '../../protocol/index.ts';
import { EXIT, type ExitCode, exitCodeOfError } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { tellIfUnserved } from '../serving/tell-if-unserved.ts';
import { harmless } from '../terminal-text.ts';
import { atAgent } from '../workplace.ts';

/** Brings a closed agent back; a text is sent to it, whether it was closed or not. */
export default function resume(
  invocation: Invocation,
  [reference, text]: [string, string | undefined],
  { recursive = false }: { recursive?: boolean },
): Promise<ExitCode> {
  const { output } = invocation;
  return atAgent(invocation, reference, async (place, id) => {
    const result = await place.withAgent(id, 'act', (agent) => agent.resume({ recursive }));
    const { resumed, not_resumed: missing } = result;
    const error = incomplete(id, missing);
    // What it is to do begins with whoever works for it next: this command would cut it short.
    const sent = text === undefined ? {} : await place.withAgent(id, 'answer', (agent) => agent.send(text));
    output.result(
      { agent_id: id, ...result, ...sent, ...(error === undefined ? {} : { error }) },
      resumed.length === 0 ? `${id} is open` : `resumed ${resumed.join(', ')}`,
    );
    for (const { agent_id, error } of missing) output.warn(`${agent_id}: ${harmless(error.message)}`);
    if (error !== undefined && output.format === 'text') output.error(error);
    if (text !== undefined) await tellIfUnserved(invocation, place, id);
    else output.info(`It waits for input: cadre send ${id} TEXT`);
    return error === undefined ? EXIT.done : exitCodeOfError(error.code);
  });
}

/** With the code of the first one: the others often follow from it. */
function incomplete(id: string, [first, ...others]: readonly NotResumed[]): ErrorBody | undefined {
  if (first === undefined) return undefined;
  const count = others.length === 0 ? 'one agent' : `${others.length + 1} agents`;
  return {
    code: first.error.code,
    message: `${id} is back without ${count} below it`,
    hint: first.error.hint ?? `Try it again: cadre resume ${first.agent_id}`,
    retryable: first.error.retryable ?? false,
  };
}
