import type { AgentView, Approval, PlanStep } from '../protocol/index.ts';
import { formatDuration } from '../protocol/status.ts';

const MESSAGE_SHOWN = 1_000;
const APPROVALS_SHOWN = 10;
const QUESTION_SHOWN = 200;
const MARK: Record<PlanStep['status'], string> = { completed: 'x', in_progress: '~', pending: ' ' };

/** What the Web UI shows of a running agent, as Markdown. Kept small: it is sent uncompressed. */
export function currentDetails(
  view: AgentView,
  plan: readonly PlanStep[],
  approvals: readonly Approval[] = [],
): string {
  const waiting = view.waiting_for === undefined ? '' : `, waiting for ${view.waiting_for}`;
  const tool = view.current_tool === undefined ? '' : ` (${view.current_tool})`;
  const lines = [
    `**Task** ${oneLine(view.task ?? '')}`,
    '',
    `- **Role** ${view.role}${view.persona === undefined ? '' : ` / ${view.persona}`}, depth ${view.depth}, started by ${sourceOf(view)}`,
    `- **Model** ${view.model}${view.reasoning_effort === undefined ? '' : ` (${view.reasoning_effort})`}`,
    `- **Status** ${view.closed ? `${view.status}, closed` : view.status}${waiting}${tool}, since ${view.status_since}`,
    `- **Turn** ${view.turn}, step ${view.step}, ${formatDuration(Date.parse(view.updated_at) - Date.parse(view.status_since))} in this status`,
    `- **Tokens** ${view.usage.total_tokens} (in ${view.usage.input_tokens}, out ${view.usage.output_tokens})`,
  ];
  if (view.note !== undefined) lines.push(`- **Note** ${oneLine(view.note)}`);
  if (view.children.length > 0)
    lines.push(`- **Children** ${view.children.map((id) => `\`${id}\``).join(', ')}`);
  if (approvals.length > 0) {
    const questions = approvals.slice(0, APPROVALS_SHOWN);
    lines.push('', '**Waiting for a person**', ...questions.map(question));
    if (approvals.length > questions.length) lines.push(`- … ${approvals.length} in all`);
  }
  if (plan.length > 0)
    lines.push('', '**Plan**', ...plan.map((step) => `- [${MARK[step.status]}] ${step.step}`));
  if (view.message !== undefined) lines.push('', '**Last message**', '', cut(view.message));
  return lines.join('\n');
}

function question({ approval_id: id, asking_id: asking, summary, reason }: Approval): string {
  return `- ${oneLine(summary).slice(0, QUESTION_SHOWN)} (${asking}; ${oneLine(reason).slice(0, QUESTION_SHOWN)}): \`cadre approve ${id}\``;
}

function sourceOf({ source }: AgentView): string {
  return source.kind === 'sub_agent' ? `\`${source.parent_id}\`` : source.kind;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

function cut(text: string): string {
  return text.length <= MESSAGE_SHOWN ? text : `${text.slice(0, MESSAGE_SHOWN)}…`;
}
