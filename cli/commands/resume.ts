import { counted, type ErrorBody, type NotResumed, sessionOf } from '../../protocol/index.ts';
import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode, exitCodeOfError } from '../exit-codes.ts';
import { fullError } from '../full-error.ts';
import type { Invocation } from '../invocation.ts';
import { readText } from '../read-text.ts';
import { handOverWork } from '../serving/hand-over.ts';
import { tellIfUnserved } from '../serving/tell-if-unserved.ts';
import { harmless } from '../terminal-text.ts';

/** Brings a closed agent back; a text is sent to it, whether it was closed or not. */
export default function resume(
  invocation: Invocation,
  [reference, argument]: [string, string | undefined],
  { recursive = false }: { recursive?: boolean },
): Promise<ExitCode> {
  const { output } = invocation;
  return atAgent(invocation, reference, async (place, id) => {
    const text = argument === undefined ? undefined : await readText(argument, 'The text');
    await place.adopt(sessionOf(id));
    const { queue } = invocation.options;
    const from = { rollouts: place.rollouts, ...(queue === undefined ? {} : { queue }) };
    await handOverWork(invocation, place, id);
    const result = await place.withAgent(id, 'act', (agent) => agent.resume({ recursive, ...from }));
    const { resumed } = result;
    const missing = result.not_resumed.map((each) => ({ ...each, error: fullError(each.error) }));
    const error = incomplete(id, result.not_resumed);
    // What it is to do begins with whoever works for it next: this command would cut it short.
    const sent = text === undefined ? {} : await place.withAgent(id, 'answer', (agent) => agent.send(text));
    output.result(
      { agent_id: id, ...result, not_resumed: missing, ...sent, ...(error === undefined ? {} : { error }) },
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
  return fullError({
    hint: `Try it again: cadre resume ${first.agent_id}`,
    ...first.error,
    message: `${id} is back without ${counted(others.length + 1, 'agent')} below it`,
  });
}
