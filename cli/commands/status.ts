import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { columns, oneLine } from '../terminal-text.ts';
import { atWorkplace } from '../workplace.ts';

export default function status(invocation: Invocation, [reference]: [string]): Promise<ExitCode> {
  return atWorkplace(invocation, reference, async (place) => {
    const view = await place.withAgent(reference, 'answer', (agent) => agent.status());
    const link = place.link.webAddress(view.agent_id);
    invocation.output.result(view, () => {
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
        ['tokens', String(view.usage.total_tokens)],
        ['folder', `${view.working_directory} (${view.sandbox_mode})`],
        ['source', view.source.kind],
        ...(view.note === undefined ? [] : [['note', oneLine(view.note)]]),
        ...(view.current_tool === undefined ? [] : [['tool', oneLine(view.current_tool)]]),
        ...(view.children.length === 0 ? [] : [['children', view.children.join(', ')]]),
        ['task', oneLine(view.task ?? '')],
        ...(link === undefined ? [] : [['web', link]]),
      ];
      return [...columns(rows), ...(view.message === undefined ? [] : ['', view.message])].join('\n');
    });
    return EXIT.done;
  });
}
