import { type AgentView, type Approval, formatDuration } from '../../protocol/index.ts';
import { columns, oneLine } from '../terminal-text.ts';
import { sourceText } from './source-text.ts';

export interface StatusOptions {
  /** What waits for a person, of this agent or its session. */
  approvals: readonly Approval[];
  /** Where the Web UI shows it. */
  link: string | undefined;
  /** Milliseconds since the epoch. */
  now: number;
}

/** One agent in full: a line for each thing that is known, then its last message. */
export function statusLines(view: AgentView, { approvals, link, now }: StatusOptions): string[] {
  const { persona, reasoning_effort: effort, message } = view;
  const rows = [
    ['agent', view.agent_id],
    ['status', stateText(view, now)],
    ['role', persona === undefined ? view.role : `${view.role} / ${persona}`],
    ['model', effort === undefined ? view.model : `${view.model}, effort ${effort}`],
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
  return [...columns(rows), ...(message === undefined ? [] : ['', message])];
}

function stateText(view: AgentView, now: number): string {
  const { status, status_since: since } = view;
  const beside = [
    ...(view.closed ? ['closed'] : []),
    ...(view.queued === true ? ['queued'] : []),
    ...(view.waiting_for === undefined ? [] : [`waiting for ${view.waiting_for}`]),
  ];
  return [`${status} since ${since} (${formatDuration(now - Date.parse(since))})`, ...beside].join(', ');
}

/** What the agent has used itself; its bound counts what is below it, too. */
function tokensText({ usage, max_tokens: most, parent_id: parent }: AgentView): string {
  const used = usage.total_tokens.toLocaleString('en');
  if (most === undefined) return used;
  const whose = parent === undefined ? 'for the whole session' : 'with all agents below it';
  return `${used} (at most ${most.toLocaleString('en')} ${whose})`;
}
