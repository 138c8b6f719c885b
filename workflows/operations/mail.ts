import type { AgentState } from '../agent-state.ts';
import type { MailItem } from '../mailbox.ts';
import { Refused } from './refused.ts';
import { ownSubAgent } from './reply.ts';

/** How many ids an error names. */
const IDS_SHOWN = 10;

export interface MailQuery {
  subagent: string | undefined;
  onlyUnread: boolean;
  limit: number;
}

/** The mail of an agent, the newest first. */
export async function listMail(agent: AgentState, query: MailQuery): Promise<MailItem[]> {
  const { subagent: reference, onlyUnread, limit } = query;
  const subagent = reference === undefined ? {} : { subagent: await ownSubAgent(agent, reference) };
  return agent.mailbox.list({ ...subagent, onlyUnread }).slice(0, limit);
}

/** One mail; with `peek` it stays as unread as it was. */
export function readMail(agent: AgentState, mailId: string, peek: boolean): MailItem {
  const { mailbox } = agent;
  const mail = mailbox.get(mailId);
  if (mail === undefined) throw notFound(agent, mailId);
  if (!peek) mailbox.markRead(mailId);
  return mail;
}

function notFound({ mailbox }: AgentState, mailId: string): Refused {
  if (mailbox.isAwaited(mailId)) {
    return new Refused({
      code: 'mail_not_found',
      message: `there is no mail ${mailId} yet: the message has no answer`,
      hint: 'A notice comes with the answer; go on with something else meanwhile.',
      retryable: true,
    });
  }
  const ids = mailbox
    .list()
    .slice(0, IDS_SHOWN)
    .map((mail) => mail.mail_id);
  return new Refused({
    code: 'mail_not_found',
    message: `there is no mail ${JSON.stringify(mailId.slice(0, 100))}${mailbox.dropped > 0 ? ', or it has made way for newer ones' : ''}`,
    hint: ids.length === 0 ? 'No mail has come.' : `The newest: ${ids.join(', ')}.`,
  });
}
