import { refusalIn } from '../../client/refusal.ts';
import { type AgentEvent, counted, nameOf } from '../../protocol/index.ts';
import { oneLine } from '../terminal-text.ts';
import { decisionText } from './decision-text.ts';

/**
 * An event as one line for people; undefined for one that tells nothing new on its own.
 *
 * @param who how its agent is named
 */
export function eventLine(event: AgentEvent, who = nameOf(event.agent_id)): string | undefined {
  const text = eventText(event);
  return text === undefined ? undefined : `${who}: ${text}`;
}

function eventText(event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'session.started':
      return `started (${event.model})`;
    case 'tool.begin':
      return event.summary === '' ? event.name : `${event.name} · ${oneLine(event.summary, 100)}`;
    case 'tool.end':
      return event.success ? undefined : failureText(event.name, event.output);
    case 'agent.spawn.end':
      return event.receiver_id === undefined
        ? `no agent was started: ${oneLine(event.error ?? '', 160)}`
        : `started ${nameOf(event.receiver_id)}: ${oneLine(event.prompt, 100)}`;
    case 'agent.status':
      if (event.receiver_id !== event.agent_id || !event.is_final) return undefined;
      // The answer itself was a message just now.
      if (event.status === 'completed' || event.text === '') return event.status;
      return `${event.status}: ${oneLine(event.text, 160)}`;
    case 'message':
      return event.role === 'user' && event.from === undefined ? undefined : said(event.text);
    case 'approval.requested':
      // The root repeats those of all its agents.
      if (event.asking_id !== event.agent_id) return undefined;
      return `asks to: ${oneLine(event.summary, 160)} (cadre approve ${event.approval_id}, or deny)`;
    case 'approval.decided':
      if (!event.approval_id.startsWith(`${event.agent_id}#`)) return undefined;
      return `${oneLine(decisionText(event), 200)} (${event.approval_id})`;
    case 'input.rejected':
      return `${event.signal} was rejected: ${event.reason}`;
    case 'conversation.compacted':
      return `compacted: a summary stands for ${counted(event.replaced, 'item')}`;
    case 'warning':
      return `warning: ${oneLine(event.text, 200)}`;
    default:
      return undefined;
  }
}

/** A refusal is JSON for the model; a person reads what it says. */
function failureText(tool: string, output: string): string {
  const refusal = refusalIn(output);
  if (refusal === undefined) return `${tool} failed: ${oneLine(output, 160)}`;
  return `${tool}: ${oneLine(refusal.message, 160)}`;
}

function said(text: string): string | undefined {
  const line = oneLine(text, 160);
  return line === '' ? undefined : line;
}
