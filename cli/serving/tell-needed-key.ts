import { workerCommand } from '../../protocol/queues.ts';
import type { Invocation } from '../invocation.ts';
import type { Workplace } from '../workplace.ts';

/** Nobody here knows which keys the workers of a queue have; one that lacks this one leaves the session standing. */
export function tellNeededKey({ output }: Invocation, place: Pick<Workplace, 'link'>, queue: string): void {
  const { encryption: ring } = place.link.connectOptions;
  if (ring === undefined) return;
  output.info(
    `It is sealed with the key ${ring.current}: the workers of ${queue} need that in their [encryption], too. Without it nothing happens; \`${workerCommand(queue)}\` says at its start what it cannot open.`,
  );
}
