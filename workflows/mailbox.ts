import type { AgentId, EndedTurn, Usage } from '../protocol/index.ts';
import { transcriptHandle } from '../protocol/transcript-handle.ts';
import { noUsage } from '../protocol/usage.ts';
import { jsonBytes } from './carried-text.ts';
import { cutMiddle } from './cut-middle.ts';

/** A message to a sub-agent that it has not answered yet. */
export interface Awaited {
  mail_id: string;
  subagent_id: AgentId;
  /** The input that the message went out as. */
  input_id: string;
  subject: string;
}

/** What a sub-agent has answered, or why it has not. */
export interface MailItem {
  mail_id: string;
  subagent_id: AgentId;
  subject: string;
  body: string;
  /** Milliseconds since the epoch. */
  at: number;
  unread: boolean;
  status: EndedTurn['status'];
  /** How many turns the sub-agent had ended by then. */
  turns_completed: number;
  /** What the answer took; absent where that is not known. */
  token_usage?: Usage;
}

/** How a message was answered. */
export type Answer = Pick<MailItem, 'body' | 'status' | 'turns_completed' | 'token_usage'>;

export interface MailboxCarry {
  /** How many messages were sent: ids are never given out twice. */
  sent: number;
  awaited: Awaited[];
  received: MailItem[];
  /** How many mails have made way for newer ones. */
  dropped?: number;
}

/** How many messages may wait for their answers. */
export const AWAITED_MAX = 200;
const MAILS_KEPT = 200;
/** Of one body, as JSON. */
const BODY_BYTES = 200_000;
/** Of all that were received together: what goes into a new run. */
const TOGETHER_BYTES = 300_000;
/** To this the oldest bodies are cut before any mail is given up. */
const SHORT_BYTES = 2_000;
const SUBJECT_SHOWN = 80;
/** Of one that is awaited, or of what stands around a body. */
const ENTRY_BYTES = 400;

/** What sub-agents have answered, the oldest first, and which messages are still to be answered. */
export class Mailbox {
  #sent: number;
  #dropped: number;
  #awaited: Awaited[];
  #received: MailItem[];
  /** Messages to one sub-agent go out in order. */
  readonly #lines = new Map<AgentId, Promise<unknown>>();

  constructor(carry: MailboxCarry = { sent: 0, awaited: [], received: [] }) {
    this.#sent = carry.sent;
    this.#dropped = carry.dropped ?? 0;
    this.#awaited = [...carry.awaited];
    this.#received = carry.received.map((mail) => ({ ...mail }));
  }

  /** The id of the mail that a message is going to be answered by. */
  nextId(): string {
    this.#sent++;
    return `mail-${this.#sent}`;
  }

  /** Sends after all that was to be sent to that sub-agent before. */
  inOrder<T>(subagent: AgentId, send: () => Promise<T>): Promise<T> {
    const before = this.#lines.get(subagent) ?? Promise.resolve();
    const sent = before.then(send);
    const over = sent.then(
      () => {},
      () => {},
    );
    this.#lines.set(subagent, over);
    void over.then(() => {
      if (this.#lines.get(subagent) === over) this.#lines.delete(subagent);
    });
    return sent;
  }

  get isFull(): boolean {
    return this.#awaited.length >= AWAITED_MAX;
  }

  /** From here on the next turn of the sub-agent that takes the input answers the message. */
  expect(mailId: string, subagent: AgentId, inputId: string, message: string): void {
    this.#awaited.push({
      mail_id: mailId,
      subagent_id: subagent,
      input_id: inputId,
      subject: subjectOf(message),
    });
  }

  /** The input did not go out after all; others are not in here. */
  forget(inputId: string): void {
    this.#awaited = this.#awaited.filter((awaited) => awaited.input_id !== inputId);
  }

  isAwaited(mailId: string): boolean {
    return this.#awaited.some((awaited) => awaited.mail_id === mailId);
  }

  /** The messages that have no answer yet. */
  get awaited(): readonly Awaited[] {
    return this.#awaited;
  }

  /**
   * A turn of a sub-agent has ended, or the sub-agent itself: it answers all messages that it has taken.
   *
   * @param isTaken by the input that a message went out as
   */
  answer(subagent: AgentId, isTaken: (inputId: string) => boolean, answer: Answer, now: number): void {
    const isAnswered = (awaited: Awaited): boolean =>
      awaited.subagent_id === subagent && isTaken(awaited.input_id);
    for (const awaited of this.#awaited.filter(isAnswered)) this.#receive(awaited, answer, now);
    this.#awaited = this.#awaited.filter((awaited) => !isAnswered(awaited));
  }

  /** After a resume: nobody answers any more what was asked before. */
  giveUp(now: number): void {
    const answer: Answer = {
      body: 'interrupted: it was closed before it had answered',
      status: 'interrupted',
      turns_completed: 0,
    };
    for (const awaited of this.#awaited.splice(0)) this.#receive(awaited, answer, now);
  }

  #receive({ mail_id, subagent_id, subject }: Awaited, { body, ...answer }: Answer, now: number): void {
    this.#received.push({
      mail_id,
      subagent_id,
      subject: `${answer.status === 'completed' ? 'Answer to' : 'No answer to'}: ${subject}`,
      body: short(body, subagent_id, BODY_BYTES),
      at: now,
      unread: true,
      ...answer,
    });
    this.#makeRoom();
  }

  /** The bodies of the oldest are cut first; then those are given up that were read, and the oldest of the others. */
  #makeRoom(): void {
    let over = this.#receivedBytes - TOGETHER_BYTES;
    for (const mail of this.#received.slice(0, -1)) {
      if (over <= 0) break;
      const body = short(mail.body, mail.subagent_id, SHORT_BYTES);
      over -= jsonBytes(mail.body) - jsonBytes(body);
      mail.body = body;
    }
    while (this.#received.length > MAILS_KEPT || this.#receivedBytes > TOGETHER_BYTES) {
      if (this.#received.length <= 1) return;
      const read = this.#received.findIndex(
        ({ unread }, index) => !unread && index < this.#received.length - 1,
      );
      this.#received.splice(Math.max(0, read), 1);
      this.#dropped++;
    }
  }

  get(mailId: string): MailItem | undefined {
    const mail = this.#received.find((mail) => mail.mail_id === mailId);
    return mail === undefined ? undefined : { ...mail };
  }

  markRead(mailId: string): void {
    for (const mail of this.#received) if (mail.mail_id === mailId) mail.unread = false;
  }

  /** The newest first. */
  list(filter: { subagent?: AgentId; onlyUnread?: boolean } = {}): MailItem[] {
    const { subagent, onlyUnread = false } = filter;
    return this.#received
      .filter((mail) => subagent === undefined || mail.subagent_id === subagent)
      .filter((mail) => !onlyUnread || mail.unread)
      .map((mail) => ({ ...mail }))
      .toReversed();
  }

  /** How many mails have made way for newer ones. */
  get dropped(): number {
    return this.#dropped;
  }

  get isEmpty(): boolean {
    return this.#sent === 0;
  }

  get #receivedBytes(): number {
    return this.#received.reduce((sum, mail) => sum + ENTRY_BYTES + jsonBytes(mail.body), 0);
  }

  /** About as many as it takes in the input of a new run. */
  get bytes(): number {
    return this.#receivedBytes + this.#awaited.length * ENTRY_BYTES;
  }

  get carry(): MailboxCarry {
    return {
      sent: this.#sent,
      awaited: this.#awaited,
      received: this.#received,
      ...(this.#dropped === 0 ? {} : { dropped: this.#dropped }),
    };
  }
}

/** What was left out stands in the conversation of the sub-agent. */
function short(body: string, subagent: AgentId, most: number): string {
  return cutMiddle(body, most, { handle: transcriptHandle(subagent) });
}

function subjectOf(message: string): string {
  const [line = ''] = message.trim().split('\n', 1);
  return line.length <= SUBJECT_SHOWN ? line : `${line.slice(0, SUBJECT_SHOWN - 1)}…`;
}

/** What a mail says that was answered in a version that did not count tokens. */
export function usageOf({ token_usage }: Pick<MailItem, 'token_usage'>): Usage {
  return token_usage ?? noUsage;
}
