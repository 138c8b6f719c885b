import pc from 'picocolors';
import { sessionOf } from '../../protocol/index.ts';
import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { treeLines } from '../render/tree-lines.ts';
import { tellStandstill } from '../serving/tell-standstill.ts';

export default function tree(invocation: Invocation, [reference]: [string]): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const session = sessionOf(id);
    const view = await place.withAgent(session, 'answer', (agent) => agent.tree());
    const colors = pc.createColors(
      process.stdout.isTTY === true && invocation.output.colors.isColorSupported,
    );
    const width = process.stdout.columns ?? 120;
    invocation.output.result(view, () =>
      treeLines(view.agents, { colors, now: Date.now(), width }).join('\n'),
    );
    await tellStandstill(invocation.output, place, view.agents);
    return EXIT.done;
  });
}
