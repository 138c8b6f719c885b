import type { AgentId, ContentPart, SendInput } from '../../protocol/index.ts';
import { plainText } from '../../protocol/items.ts';
import { SIGNALS } from '../../protocol/messages.ts';
import { wireStatus } from '../../protocol/status.ts';
import type { AgentState } from '../agent-state.ts';
import { OUTSIDE } from '../standing.ts';
import { requireBelow } from './ownership.ts';
import { Refused } from './refused.ts';
import { needsSlot, resolveAgent } from './resolve.ts';
import { releaseSlot, reserveFor } from './slot.ts';
import { lose } from './take-answers.ts';
import { LeftBehind, uncut } from './uncut.ts';

export interface SendRequest {
  callId: string;
  to: string;
  content: ContentPart[];
  interrupt: boolean;
  /** It does not join a running turn, but begins one. */
  ownTurn?: boolean;
  /** Told of its id just before it goes out. */
  sending?: (inputId: string) => void;
}

/** Sends input to an agent of this session; answers when it is on its way for good. */
export async function send(agent: AgentState, request: SendRequest): Promise<{ submission_id: string }> {
  const receiver = await resolveAgent(agent, request.to);
  const prompt = plainText(request.content);
  const event = { call_id: request.callId, sender_id: agent.id, receiver_id: receiver, prompt };
  agent.emit({ type: 'agent.input.begin', ...event });
  try {
    requireReceiver(agent, receiver, request.interrupt);
    // From the reservation on nothing may be cut in two, or the slot would be kept for an input that never comes.
    return await uncut(agent, `The input for ${receiver}`, async () => {
      const submissionId = await reserveAndSend(agent, receiver, request);
      const known = agent.children.get(receiver);
      const status = wireStatus(known?.status ?? 'running', known?.message);
      agent.emit({ type: 'agent.input.end', ...event, status });
      return { submission_id: submissionId };
    });
  } catch (error) {
    if (error instanceof LeftBehind) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    agent.emit({ type: 'agent.input.end', ...event, status: 'not_found', error: reason });
    throw error;
  }
}

function requireReceiver(agent: AgentState, receiver: AgentId, interrupt: boolean): void {
  // Whoever may not stop an agent may not do so by the way.
  if (interrupt && receiver !== agent.id) requireBelow(agent, receiver, 'interrupt');
  if (receiver === agent.id) {
    throw new Refused({
      code: 'not_permitted',
      message: 'an agent cannot send input to itself',
      hint: 'Send it to another agent (list_agents), or go on with it yourself.',
    });
  }
  if (agent.children.get(receiver)?.closed === true) throw closed(receiver);
}

async function reserveAndSend(agent: AgentState, receiver: AgentId, request: SendRequest): Promise<string> {
  // The root needs no slot; for another one that is idle the right to work is reserved before the input goes out.
  const reserves = receiver !== agent.identity.session_id && needsSlot(agent, receiver);
  if (reserves) {
    const answer = await reserveFor(agent, receiver);
    if (answer?.outcome === 'refused') throw new Refused(answer.error);
  }
  const id = agent.nextId('inputs');
  const own = request.ownTurn === true ? { own_turn: true } : {};
  const payload: SendInput = {
    items: request.content,
    interrupt: request.interrupt,
    from: agent.id,
    id,
    ...own,
  };
  agent.children.sent(receiver, id);
  request.sending?.(id);
  const reached = await agent.outbox.send(receiver, SIGNALS.sendInput, payload).catch((error: unknown) => {
    // The server takes no more signals for it.
    agent.children.unsent(receiver, id);
    agent.mailbox.forget(id);
    if (reserves) releaseSlot(agent, receiver);
    throw error;
  });
  if (!reached) {
    agent.mailbox.forget(id);
    const life = agent.children.life(receiver);
    lose(agent, receiver, 'errored', OUTSIDE);
    if (reserves || life !== undefined) releaseSlot(agent, receiver, life);
    throw closed(receiver);
  }
  return id;
}

/**
 * Input of another agent is none that this one takes. Whoever has sent it does not wait for an answer to it, and the
 * slot that was reserved for it is free again, unless this agent is about to work anyway.
 */
export function turnAwayInput(agent: AgentState, from: AgentId, id: string): void {
  agent.inbox.turnAway(from, id);
  const { standing, inbox, running } = agent;
  const isIdle = standing.isFinal && running === undefined && !inbox.hasInput;
  if (isIdle && !agent.isRoot) releaseSlot(agent, agent.id);
  agent.report();
}

function closed(receiver: AgentId): Refused {
  return new Refused({
    code: 'agent_closed',
    message: `agent ${receiver} is closed and takes no input`,
    hint: 'resume_agent brings it back; or spawn another one.',
  });
}
