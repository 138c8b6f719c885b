import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { atAgent } from '../workplace.ts';

/** Removes a closed session from Temporal, and what this machine keeps of it. */
export default function rm(invocation: Invocation, [reference]: [string]): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const removed = await place.link.reach((client) => client.remove(id));
    await place.files.remove(id);
    invocation.output.result({ removed }, `removed ${removed.join(', ')}`);
    return EXIT.done;
  });
}
