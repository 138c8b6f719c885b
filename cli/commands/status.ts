import type { AgentView } from '../../protocol/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { sourceText } from '../render/source-text.ts';
import { columns, oneLine } from '../terminal-text.ts';
import { atAgent } from '../workplace.ts';

export default function status(invocation: Invocation, [reference]: [string]): Promise<ExitCode> {
  return atAgent(invocation, reference, async (place, id) => {
    const { output } = invocation;
    const { view, approvals } = await place.withAgent(id, 'answer', async (agent) => {
      const view = await agent.status();
      const approvals = view.closed || output.format !== 'text' ? [] : await agent.approvals();
      return { view, approvals };
    });
    const link = place.link.webAddress(view.agent_id);
    output.result(view, () => {
      const state = [
        view.status,
        ...(view.closed ? ['closed'] : []),
        ...(view.queued === true ? ['queued'] : []),
      ];
      if (view.waiting_for !== undefined) state.push(`waiting for ${view.waiting_for}`);
      const rows = [
        ['agent', view.agent_id],
        ['status', `${state.join(', ')} since ${view.status_since}`],
        ['role', view.persona === undefined ? view.role : `${view.role} / ${view.persona}`],
        ['model', view.model],
        ['turn', `${view.turn}, step ${view.step}`],
        ['tokens', tokensText(view)],
        ['folder', `${view.working_directory} (${view.sandbox_mode})`],
        ['source', sourceText(view.source)],
        ...(view.note === undefined ? [] : [['note', oneLine(view.note)]]),
        ...(view.current_tool === undefined ? [] : [['tool', oneLine(view.current_tool)]]),
        ...approvals.map(({ approval_id: request, summary }) => [
          'approval',
          `${oneLine(summary)}  (cadre approve ${request}, or deny)`,
        ]),
        ...(view.children.length === 0 ? [] : [['children', view.children.join(', ')]]),
        ['task', oneLine(view.task ?? '')],
        ...(link === undefined ? [] : [['web', link]]),
      ];
      return [...columns(rows), ...(view.message === undefined ? [] : ['', view.message])].join('\n');
    });
    return EXIT.done;
  });
}

/** What the agent has used itself; its bound counts what is below it, too. */
function tokensText({ usage, max_tokens: most, parent_id: parent }: AgentView): string {
  const used = usage.total_tokens.toLocaleString('en');
  if (most === undefined) return used;
  const whose = parent === undefined ? 'for the whole session' : 'with all agents below it';
  return `${used} (at most ${most.toLocaleString('en')} ${whose})`;
}
