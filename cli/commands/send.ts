import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { readText } from '../read-text.ts';
import { tellIfUnserved } from '../serving/tell-if-unserved.ts';

export default function send(
  invocation: Invocation,
  [reference, argument]: [string, string],
  options: { interrupt?: boolean },
): Promise<ExitCode> {
  return sendText(invocation, reference, () => readText(argument, 'The text'), options);
}

/** @param read asked for the text once the agent is known */
export function sendText(
  invocation: Invocation,
  reference: string,
  read: () => Promise<string>,
  { interrupt }: { interrupt?: boolean },
): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const text = await read();
    const answer = await place.withAgent(id, 'answer', (agent) =>
      agent.send(text, interrupt === undefined ? {} : { interrupt }),
    );
    invocation.output.result(answer, '');
    await tellIfUnserved(invocation, place, id);
    return EXIT.done;
  });
}
