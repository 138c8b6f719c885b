import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';

export default function interrupt(
  invocation: Invocation,
  [reference]: [string],
  { reason }: { reason?: string },
): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const view = await place.withAgent(id, 'answer', async (agent) => {
      await agent.interrupt(reason);
      return (await agent.wait({ timeoutMs: 5_000 })) ?? agent.status();
    });
    invocation.output.result(
      { agent_id: view.agent_id, status: view.status, message: view.message ?? '' },
      `${view.agent_id} ${view.status}`,
    );
    return EXIT.done;
  });
}
