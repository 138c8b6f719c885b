import { CancellationScope, condition } from '@temporalio/workflow';
import type { Acknowledge, AgentId, Mail, Report } from '../protocol/index.ts';
import type { AgentState, CloseRequest } from './agent-state.ts';
import { announce, emitStatus } from './announce.ts';
import { takeQuestion } from './approval-desk.ts';
import { carryOut } from './client-operations.ts';
import { cutMiddle } from './cut-middle.ts';
import { answerLookup, answerSlotRequest, recordReport } from './ledger.ts';
import { takeForLost } from './operations/death.ts';
import { lookAtHolders } from './operations/holders.ts';
import { interruptTurn } from './operations/interrupt.ts';
import { answerList } from './operations/list.ts';
import { suspect } from './operations/lookout.ts';
import { takeNote } from './operations/note.ts';
import { turnAwayInput } from './operations/send.ts';
import { takeAnswers } from './operations/take-answers.ts';
import type { Order } from './order.ts';
import { TO_PARENT } from './report-size.ts';
import { turnAway } from './strays.ts';

/** Acts on what the handlers have left, beside the turn, for as long as the workflow runs. */
export async function followOrders(agent: AgentState): Promise<never> {
  for (;;) {
    await condition(() => agent.orders.length > 0 && !agent.movesOn);
    await untilUpdatesAreAnswered();
    followWaiting(agent);
  }
}

/**
 * Follows at once what waits. Whatever else is put in by a handler calls it first: a worker that has to replay may see
 * two signals together that came one after the other, and the order of what they do must not depend on that.
 */
export function followWaiting(agent: AgentState): void {
  if (agent.movesOn) return;
  // Here as in the main function, nothing is cancelled with the workflow.
  void CancellationScope.nonCancellable(async () => {
    for (const order of agent.orders.splice(0)) follow(agent, order);
  });
}

/** Turns of the microtask queue; the answer of an update takes about five of them. */
const BREATH = 12;

/**
 * A signal and an update that come in one task for the worker that was there may come in two for one that takes over,
 * or the other way round. Without a breath the signal would have this loop running already, and what the update asks
 * for would stand before the update's answer in the history in one case, and behind it in the other: it would not
 * replay.
 */
async function untilUpdatesAreAnswered(): Promise<void> {
  const now = Promise.resolve();
  for (let turn = 0; turn < BREATH; turn++) await now;
}

function follow(agent: AgentState, order: Order): void {
  switch (order.type) {
    case 'interrupt':
      interruptTurn(agent, order);
      return;
    case 'shutdown':
      beginClosing(agent, order.reason, false);
      return;
    case 'refused_input':
      turnAwayInput(agent, order.from, order.id);
      return;
    case 'report':
      agent.report();
      return;
    case 'death':
      takeForLost(agent, order.id, order.life, order.reason);
      return;
    case 'suspicion':
      void suspect(agent, [order.id]);
      return;
    case 'no_slot':
      lookAtHolders(agent, order.request);
      return;
    case 'operate':
      carryOut(agent, order.id, order.request);
      return;
    case 'mail':
      read(agent, order.mail);
      return;
  }
}

/** From here on no input is taken; a running turn and what runs beside it are stopped, the main function does the rest. */
export function beginClosing(agent: AgentState, reason: string, keepStatus: boolean): void {
  if (agent.closing !== undefined) return;
  agent.closing = { reason, keepStatus };
  agent.running?.stop(reason);
  agent.sideWork.stop(reason);
}

function read(agent: AgentState, mail: Mail): void {
  if (turnAway(agent, mail)) return;
  switch (mail.type) {
    case 'report':
      learn(agent, mail.report);
      return;
    case 'slot':
      answerSlotRequest(agent, mail.request);
      return;
    case 'slot_answer':
      // The answer to one question comes once or, for a queued claim, a second time when its turn has come.
      agent.slotAnswers.answer(mail.answer);
      return;
    case 'lookup': {
      const answer = answerLookup(agent, mail.lookup);
      agent.outbox.post(mail.lookup.from, { type: 'lookup_answer', answer });
      return;
    }
    case 'lookup_answer':
      // At once: what comes with the answer may be the end of one of them, and nobody would know whose it is.
      for (const { report } of mail.answer.found) if (report !== undefined) agent.children.apply(report);
      agent.lookupAnswers.answer(mail.answer);
      return;
    case 'unwatch':
      agent.tree?.watches.end(mail.request_id, mail.from);
      return;
    case 'approval':
      takeQuestion(agent, mail.approval);
      return;
    case 'approval_withdrawn':
      agent.tree?.approvals.withdraw(mail.approval_id);
      agent.onChange();
      return;
    case 'verdict':
      agent.verdicts.answer(mail.verdict);
      return;
    case 'budget': {
      const answer = agent.tree?.budget.answer(mail.request);
      if (answer !== undefined) agent.outbox.post(mail.request.from, { type: 'budget_answer', answer });
      return;
    }
    case 'budget_answer':
      agent.budgetAnswers.answer(mail.answer);
      return;
    case 'list':
      agent.outbox.post(mail.request.from, {
        type: 'list_answer',
        answer: answerList(agent, mail.request),
      });
      return;
    case 'list_answer':
      agent.listAnswers.answer(mail.answer);
      return;
    case 'note':
      takeNote(agent, mail.note);
      return;
    case 'acknowledge':
      agent.acknowledgements.set(mail.acknowledge.request_id, mail.acknowledge);
      return;
    case 'close': {
      const { request_id: requestId, from, reason, keep_status: keepStatus } = mail.request;
      // One that has just closed for another reason answers, too: nobody else would before its workflow is gone.
      const { closed } = agent;
      const { running, sideWork, children } = agent;
      const takesTime = running !== undefined || sideWork.busy || children.open.length > 0;
      if (closed !== undefined || takesTime) {
        acknowledge(agent, from, { request_id: requestId, done: closed !== undefined, closed: closed ?? [] });
      }
      agent.closeRequests.push({ from, requestId, before: standingTold(agent, from) });
      beginClosing(agent, reason, keepStatus);
      return;
    }
  }
}

/** The words of its last end the parent has, as its reports go before this. */
function standingTold(agent: AgentState, to: AgentId): CloseRequest['before'] {
  const { status, message } = agent.view;
  if (message === undefined || to === agent.identity.parent_id) return { status };
  return { status, message: cutMiddle(message, TO_PARENT) };
}

function acknowledge(agent: AgentState, to: AgentId, acknowledge: Acknowledge): void {
  agent.outbox.post(to, { type: 'acknowledge', acknowledge });
}

/** Takes in how another agent stands, and how its turn has ended: for a child, that becomes a notice for the model. */
function learn(agent: AgentState, report: Report): void {
  const { view } = report;
  const inTree = recordReport(agent, report);
  // Every agent is known before it can say anything: its parent and the root have made way for it.
  const isOwn = agent.children.get(view.agent_id) !== undefined;
  const change = isOwn ? agent.children.apply(report) : undefined;
  if (inTree === undefined && change === undefined) return;
  if (change?.ended !== undefined) announce(agent, change.known, change.ended);
  if (change !== undefined) takeAnswers(agent, view.agent_id, change.ended);
  const { ended } = report;
  if (ended !== undefined) emitStatus(agent, view.agent_id, ended.status, ended.message ?? view.message);
  const isNew = change?.statusChanged === true || inTree?.statusChanged === true;
  if (isNew && view.status !== ended?.status) emitStatus(agent, view.agent_id, view.status, view.message);
  agent.onChange();
}
