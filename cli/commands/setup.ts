import { atWorkplace } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';

/** Registers on a cluster what Cadre's filters need. */
export default function setup(invocation: Invocation): Promise<ExitCode> {
  return atWorkplace(invocation, async (place) => {
    const registered = await place.link.reach((client) => client.registerSearchAttributes());
    invocation.output.result(
      { registered },
      registered.length === 0 ? 'all search attributes were there' : `registered ${registered.join(', ')}`,
    );
    return EXIT.done;
  });
}
