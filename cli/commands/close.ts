import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';

export default function close(invocation: Invocation, [reference]: [string]): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const result = await place.withAgent(id, 'act', (agent) => agent.close());
    invocation.output.result(
      { agent_id: id, ...result },
      result.closed.length === 0 ? `${id} was closed already` : `closed ${result.closed.join(', ')}`,
    );
    for (const { agent_id: left, error } of result.not_closed ?? []) {
      invocation.output.warn(`${left} was not closed: ${error.message}`);
    }
    return result.not_closed === undefined ? EXIT.done : EXIT.errored;
  });
}
