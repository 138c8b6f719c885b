import type { AgentView, PlanStep } from '../protocol/index.ts';
import { formatDuration } from '../protocol/status.ts';

const MESSAGE_SHOWN = 1_000;
const MARK: Record<PlanStep['status'], string> = { completed: 'x', in_progress: '~', pending: ' ' };

/** What the Web UI shows of a running agent, as Markdown. Kept small: it is sent uncompressed. */
export function currentDetails(view: AgentView, plan: readonly PlanStep[]): string {
  const waiting = view.waiting_for === undefined ? '' : `, waiting for ${view.waiting_for}`;
  const tool = view.current_tool === undefined ? '' : ` (${view.current_tool})`;
  const lines = [
    `**Task** ${oneLine(view.task ?? '')}`,
    '',
    `- **Role** ${view.role}${view.persona === undefined ? '' : ` / ${view.persona}`}, depth ${view.depth}`,
    `- **Model** ${view.model}${view.reasoning_effort === undefined ? '' : ` (${view.reasoning_effort})`}`,
    `- **Status** ${view.closed ? `${view.status}, closed` : view.status}${waiting}${tool}, since ${view.status_since}`,
    `- **Turn** ${view.turn}, step ${view.step}, ${formatDuration(Date.parse(view.updated_at) - Date.parse(view.status_since))} in this status`,
    `- **Tokens** ${view.usage.total_tokens} (in ${view.usage.input_tokens}, out ${view.usage.output_tokens})`,
  ];
  if (view.note !== undefined) lines.push(`- **Note** ${oneLine(view.note)}`);
  if (view.children.length > 0)
    lines.push(`- **Children** ${view.children.map((id) => `\`${id}\``).join(', ')}`);
  if (plan.length > 0)
    lines.push('', '**Plan**', ...plan.map((step) => `- [${MARK[step.status]}] ${step.step}`));
  if (view.message !== undefined) lines.push('', '**Last message**', '', cut(view.message));
  return lines.join('\n');
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

function cut(text: string): string {
  return text.length <= MESSAGE_SHOWN ? text : `${text.slice(0, MESSAGE_SHOWN)}…`;
}
