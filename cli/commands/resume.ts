import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { tellIfUnserved } from '../serving/tell-if-unserved.ts';
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
    // What it is to do begins with whoever works for it next: this command would cut it short.
    const sent = text === undefined ? {} : await place.withAgent(id, 'answer', (agent) => agent.send(text));
    output.result(
      { agent_id: id, ...result, ...sent },
      result.resumed.length === 0 ? `${id} is open` : `resumed ${result.resumed.join(', ')}`,
    );
    if (text !== undefined) await tellIfUnserved(invocation, place, id);
    else output.info(`It waits for input: cadre send ${id} TEXT`);
    return EXIT.done;
  });
}
