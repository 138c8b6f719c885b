import type { Item } from '../protocol/index.ts';
import { plainText } from '../protocol/items.ts';
import type { AgentState } from './agent-state.ts';
import { cutMiddle } from './cut-middle.ts';
import { shown } from './known.ts';

const HANDLES_SHOWN = 50;
const APPROVALS_SHOWN = 50;
const INPUTS_SHOWN = 20;
const MAIL_SHOWN = 50;
const COMMANDS_SHOWN = 50;
/** Of JSON, for one line. */
const LINE_BYTES = 300;

/**
 * How an agent stands, told from its state: what a summary of its conversation may have wrong, and need not hold.
 *
 * @param replaced the items that the summary stands for
 */
export function howThingsStand(agent: AgentState, replaced: readonly Item[]): string[] {
  const plan = agent.standing.plan.map(({ step, status }) => `- ${status}: ${step}`);
  const handles = replaced.flatMap((item) => (item.type === 'tool_output' ? (item.handle ?? []) : []));
  const stored = [...new Set(handles)].slice(-HANDLES_SHOWN).map((handle) => `- ${handle}`);
  return [
    'How things stand now:',
    ...listed('Plan', plan),
    ...listed('Open sub-agents', openAgents(agent)),
    ...listedIfAny('Commands that go on (write_stdin)', commands(agent), COMMANDS_SHOWN),
    ...listedIfAny('Messages to sub-agents that have no answer yet', awaited(agent), MAIL_SHOWN),
    ...listedIfAny('Mail that is not read yet', unread(agent), MAIL_SHOWN),
    ...listed('Stored outputs that were too long', stored),
    // Left out where there are none, which is how things are as a rule.
    ...listedIfAny('Questions that wait for a person to approve', questions(agent), APPROVALS_SHOWN),
    ...listedIfAny('Input that has come and is not read yet', inputs(agent), INPUTS_SHOWN),
  ];
}

/** The root knows all questions of the session, other agents see of their children that they wait for an answer. */
function openAgents({ children }: AgentState): string[] {
  return children.open.map((known) => {
    const asks = shown(known)?.waiting_for === 'approval';
    return `- ${known.id}: ${known.status}${asks ? ', waits for a person to approve what it asked' : ''}`;
  });
}

function questions({ tree, questions }: AgentState): string[] {
  const open = tree?.approvals.pending ?? [...questions.values()];
  return open.map(({ asking_id, kind, summary }) => line(`${asking_id}: ${kind}: ${summary}`));
}

function commands({ commands }: AgentState): string[] {
  return commands.all.map(({ id, title }) => line(`session_id ${id}: ${title}`));
}

function awaited({ mailbox }: AgentState): string[] {
  return mailbox.awaited.map(({ mail_id, subagent_id, subject }) =>
    line(`${mail_id} from ${subagent_id}: ${subject}`),
  );
}

function unread({ mailbox }: AgentState): string[] {
  return mailbox
    .list({ onlyUnread: true })
    .map(({ mail_id, subagent_id, subject }) => line(`${mail_id} of ${subagent_id}: ${subject}`));
}

/** In part: the whole of it follows. */
function inputs({ inbox }: AgentState): string[] {
  return inbox.inputs.map(({ content, from }) => {
    const sender = from === undefined ? '' : `from ${from}: `;
    return line(`${sender}${plainText(content)}`);
  });
}

function line(text: string): string {
  return `- ${cutMiddle(text, LINE_BYTES).replaceAll(/\s+/g, ' ').trim()}`;
}

function listed(head: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [`${head}: none.`] : [`${head}:`, ...lines];
}

function listedIfAny(head: string, lines: readonly string[], most: number): string[] {
  if (lines.length === 0) return [];
  const left = lines.length - most;
  return [`${head}:`, ...lines.slice(0, most), ...(left > 0 ? [`- … and ${left} more`] : [])];
}
