import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { readText } from '../read-text.ts';
import { tellIfUnserved } from '../serving/tell-if-unserved.ts';

export default function send(
  invocation: Invocation,
  [reference, argument]: [string, string],
  { interrupt }: { interrupt?: boolean },
): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const text = await readText(argument, 'The text');
    const answer = await place.withAgent(id, 'answer', (agent) =>
      agent.send(text, interrupt === undefined ? {} : { interrupt }),
    );
    invocation.output.result(answer, '');
    await tellIfUnserved(invocation, place, id);
    return EXIT.done;
  });
}
