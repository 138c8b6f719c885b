import type { AgentId, ContentPart } from '../../protocol/index.ts';
import { plainText } from '../../protocol/items.ts';
import { wireStatus } from '../../protocol/status.ts';
import type { AgentState } from '../agent-state.ts';
import { AWAITED_MAX, type MailItem } from '../mailbox.ts';
import { MovesOn, type Parked } from '../step-under-way.ts';
import { waitInCall } from '../wait-in-call.ts';
import { Refused } from './refused.ts';
import { resolveAgent } from './resolve.ts';
import { send } from './send.ts';
import { lendingSlot } from './slot.ts';
import { endOfWait } from './wait.ts';

export interface ReplyRequest {
  callId: string;
  to: string;
  content: ContentPart[];
}

type Waited = NonNullable<Parked['wait']>;

/** What has come of a wait for an answer: the answer, or why there is none yet; then it comes as mail later. */
export type Replied = { mailId: string } & (
  | { answer: MailItem }
  | { answer?: undefined; because: 'timed_out' | 'interrupted_by_input' | 'dropped' }
);

/**
 * Sends a message to a sub-agent, which answers it in a turn of its own; those of one sender are answered in order.
 *
 * @returns the id of the mail that the answer is going to be
 */
export async function message(agent: AgentState, request: ReplyRequest): Promise<string> {
  return (await begin(agent, request)).mailId;
}

/**
 * The same, and waits for the answer, which is then known to the model: no notice tells of it. It stays in the mailbox,
 * as read. The wait is a durable timer, lends the slot, and ends early for new input.
 */
export async function reply(
  agent: AgentState,
  request: ReplyRequest & { timeoutMs: number | undefined },
): Promise<Replied> {
  const { callId } = request;
  const event = { call_id: callId, sender_id: agent.id };
  const parked = agent.step?.parked(callId)?.wait;
  // Lent before the message goes out, the slot is there for the sub-agent.
  const { waited, inTime } = await lendingSlot(agent, callId, async () => {
    const waited = parked ?? (await newWait(agent, request));
    if (parked === undefined) agent.emit({ type: 'agent.wait.begin', ...event, receiver_ids: waited.ids });
    try {
      return { waited, inTime: await untilAnswered(agent, callId, waited, parked === undefined) };
    } catch (error) {
      if (!(error instanceof MovesOn)) {
        agent.emit({ type: 'agent.wait.end', ...event, statuses: {}, timed_out: false });
      }
      throw error;
    }
  });
  const { ids: [id] = [], mail: mailId = '' } = waited;
  const replied = repliedTo(agent, callId, mailId, inTime);
  const { answer } = replied;
  const statuses =
    answer === undefined || id === undefined ? {} : { [id]: wireStatus(answer.status, answer.body) };
  const why = answer === undefined ? replied.because : undefined;
  agent.emit({
    type: 'agent.wait.end',
    ...event,
    statuses,
    timed_out: why === 'timed_out',
    ...(why === 'interrupted_by_input' ? { interrupted_by_input: true } : {}),
  });
  return replied;
}

async function newWait(
  agent: AgentState,
  request: ReplyRequest & { timeoutMs: number | undefined },
): Promise<Waited> {
  const { to, mailId } = await begin(agent, request);
  return { ids: [to], unknown: [], until: endOfWait(agent, request.timeoutMs), mail: mailId };
}

async function begin(
  agent: AgentState,
  { callId, to: reference, content }: ReplyRequest,
): Promise<{ to: AgentId; mailId: string }> {
  const { mailbox } = agent;
  const to = await ownSubAgent(agent, reference);
  if (mailbox.isFull) {
    throw new Refused({
      code: 'limit_operations',
      message: `${AWAITED_MAX} messages of ${agent.id} have no answer yet, the most there may be`,
      hint: 'Wait until some are answered (subagent_mailbox), and try again.',
      retryable: true,
    });
  }
  const mailId = mailbox.nextId();
  const sending = (inputId: string): void => mailbox.expect(mailId, to, inputId, plainText(content));
  await mailbox.inOrder(to, () =>
    send(agent, { callId, to, content, interrupt: false, ownTurn: true, sending }),
  );
  return { to, mailId };
}

/** Only of its own sub-agents does an agent learn how each turn ends. */
export async function ownSubAgent(agent: AgentState, reference: string): Promise<AgentId> {
  const id = await resolveAgent(agent, reference);
  if (agent.children.get(id)?.isChild === true) return id;
  throw new Refused({
    code: 'not_permitted',
    message: `agent ${id} is no sub-agent of ${agent.id}`,
    hint: `Yours: ${agent.children.ids.join(', ') || 'none'}.`,
  });
}

/** False when the time was up first. */
async function untilAnswered(
  agent: AgentState,
  callId: string,
  waited: Waited,
  isNew: boolean,
): Promise<boolean> {
  const { mail: mailId = '', until } = waited;
  const over = (): boolean =>
    !agent.mailbox.isAwaited(mailId) || agent.inbox.hasSteering || agent.closing !== undefined;
  const isModels = !agent.operations.has(callId);
  if (isModels) {
    agent.standing.waitingFor = 'agents';
    if (isNew) agent.report();
    else agent.onChange();
  }
  const timeout = { ms: Math.max(1, until - Date.now()), summary: 'wait for an answer' };
  try {
    return await waitInCall(agent, callId, { wait: waited }, over, timeout);
  } finally {
    // Others of the same answer may wait on.
    if (isModels && agent.step?.waits !== true) agent.standing.waitingFor = undefined;
    agent.onChange();
  }
}

function repliedTo(agent: AgentState, callId: string, mailId: string, inTime: boolean): Replied {
  const { mailbox, inbox } = agent;
  const answer = mailbox.get(mailId);
  if (answer === undefined) {
    if (!mailbox.isAwaited(mailId)) return { mailId, because: 'dropped' };
    return { mailId, because: inTime ? 'interrupted_by_input' : 'timed_out' };
  }
  // What a client is told, the model has not learnt.
  if (!agent.operations.has(callId)) {
    mailbox.markRead(mailId);
    inbox.withdraw(answer.subagent_id, answer.turns_completed, answer.status);
  }
  return { mailId, answer };
}
