import type pc from 'picocolors';
import sliceAnsi from 'slice-ansi';
import { type AgentView, formatDuration, nameOf, type Status } from '../../protocol/index.ts';
import { columns, formatCount, oneLine } from '../terminal-text.ts';

type Colors = ReturnType<typeof pc.createColors>;

export interface TreeOptions {
  colors: Colors;
  /** Milliseconds since the epoch. */
  now: number;
  /** Columns of the terminal. */
  width?: number;
}

/** The tree of a session, a line an agent: name, role, status, what it does, how long, tokens. */
export function treeLines(agents: readonly AgentView[], { colors, now, width = 100 }: TreeOptions): string[] {
  const rows = ordered(agents).map(({ agent, prefix }) => [
    prefix + (agent.depth === 0 ? agent.agent_id : nameOf(agent.agent_id)),
    colors.dim(agent.role),
    paint(colors, agent.status)(statusText(agent)),
    elapsed(agent, now),
    `${formatCount(agent.usage.total_tokens)} tok`,
    colors.dim(oneLine(doing(agent), Math.max(20, width - 60))),
  ]);
  return columns(rows).map((line) => sliceAnsi(line, 0, width));
}

function statusText(agent: AgentView): string {
  const closed = agent.closed && agent.status !== 'shutdown' ? ' (closed)' : '';
  return `${agent.status}${agent.queued === true ? ' (queued)' : ''}${closed}`;
}

function doing(agent: AgentView): string {
  if (agent.is_final) return agent.message ?? '';
  if (agent.waiting_for === 'approval') return 'waiting for approval (cadre approvals)';
  if (agent.current_tool !== undefined) return agent.current_tool;
  return agent.waiting_for === undefined ? '' : `waiting for ${agent.waiting_for}`;
}

function elapsed(agent: AgentView, now: number): string {
  const since = Date.parse(agent.status_since);
  return agent.is_final ? '' : formatDuration(now - since);
}

/** Parents before their children, each with the branches that lead to it. */
function ordered(agents: readonly AgentView[]): { agent: AgentView; prefix: string }[] {
  const ids = new Set(agents.map((agent) => agent.agent_id));
  const roots = agents.filter((agent) => agent.parent_id === undefined || !ids.has(agent.parent_id));
  const lines: { agent: AgentView; prefix: string }[] = [];
  const add = (agent: AgentView, prefix: string, below: string): void => {
    lines.push({ agent, prefix });
    const children = agents.filter((child) => child.parent_id === agent.agent_id);
    for (const [index, child] of children.entries()) {
      const last = index === children.length - 1;
      add(child, `${below}${last ? '└─ ' : '├─ '}`, `${below}${last ? '   ' : '│  '}`);
    }
  };
  for (const root of roots) add(root, '', '');
  return lines;
}

function paint(colors: Colors, status: Status): (text: string) => string {
  switch (status) {
    case 'completed':
      return colors.green;
    case 'errored':
    case 'not_found':
      return colors.red;
    case 'interrupted':
      return colors.yellow;
    case 'running':
      return colors.cyan;
    default:
      return colors.dim;
  }
}
