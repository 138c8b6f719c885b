import type { AgentId, Mail } from '../protocol/index.ts';
import { isNews } from '../protocol/lives.ts';
import { SIGNALS } from '../protocol/messages.ts';
import type { AgentState } from './agent-state.ts';

/**
 * Turns away what comes to the root from an agent that it takes for closed, such as one that has worked on while its
 * root was ended and resumed: nobody would see what it does, so it is told to close.
 */
export function turnAway(root: AgentState, mail: Mail): boolean {
  const sender = senderOf(mail);
  const held = sender === undefined ? undefined : root.tree?.report(sender);
  if (sender === undefined || held?.view.closed !== true) return false;
  // It says that it is back, or has closed.
  if (mail.type === 'report' && (isNews(mail.report, held.seq) || mail.report.view.closed)) return false;
  const reason = 'its session has gone on without it';
  root.outbox.send(sender, SIGNALS.shutdown, { reason }).catch(() => {});
  return true;
}

/** Who asks for something by this mail, or says how it stands. */
function senderOf(mail: Mail): AgentId | undefined {
  switch (mail.type) {
    case 'report':
      return mail.report.view.agent_id;
    case 'slot':
      return 'from' in mail.request ? mail.request.from : undefined;
    case 'lookup':
      return mail.lookup.from;
    case 'approval':
      return mail.approval.asking_id;
    case 'budget':
    case 'list':
      return mail.request.from;
    default:
      return undefined;
  }
}
