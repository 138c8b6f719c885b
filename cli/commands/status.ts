import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { statusLines } from '../render/status-lines.ts';
import { tellIfUnserved } from '../serving/tell-if-unserved.ts';

export default function status(invocation: Invocation, [reference]: [string]): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const { output } = invocation;
    const { view, approvals } = await place.withAgent(id, 'answer', async (agent) => {
      const view = await agent.status();
      const approvals = view.closed || output.format !== 'text' ? [] : await agent.approvals();
      return { view, approvals };
    });
    const link = place.link.webAddress(view.agent_id);
    output.result(view, () => statusLines(view, { approvals, link, now: Date.now() }).join('\n'));
    if (view.waiting_for === 'model') await tellIfUnserved(invocation, place, id);
    return EXIT.done;
  });
}
