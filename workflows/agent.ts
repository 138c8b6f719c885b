import { CancellationScope } from '@temporalio/workflow';
import { counted } from '../protocol/counted.ts';
import type { AgentInput, AgentResult, ErrorBody, Item } from '../protocol/index.ts';
import { fittingNote } from '../protocol/note.ts';
import { AgentState } from './agent-state.ts';
import type { AgentCarry } from './carry.ts';
import { closeSelf } from './closing.ts';
import { continueInNewRun, mayMoveOn, shouldContinueAsNew } from './continue-as-new.ts';
import { registerHandlers } from './handlers.ts';
import { untilDue } from './idleness.ts';
import { lookForDeaths } from './operations/lookout.ts';
import { releaseSlot, takeSlot } from './operations/slot.ts';
import { beginClosing, followOrders, followWaiting } from './orders.ts';
import { requireReadable } from './readable.ts';
import { giveUp, type Past, recall } from './restore.ts';
import { applyRole } from './root-role.ts';
import { worksBelow } from './settling.ts';
import { lookForStandstill } from './standstill.ts';
import type { Stoppable } from './stoppable.ts';
import { Surface } from './surface.ts';
import { runTurn } from './turn.ts';
import { endedBefore, endTurn, startTurn } from './turn-bounds.ts';
import { stopped, withoutSlot } from './turn-limits.ts';
import type { TurnOutcome } from './turn-outcome.ts';

/** The life of one agent: turns, one after the other, until it is closed. */
export async function agent(input: AgentInput<AgentCarry>): Promise<AgentResult> {
  requireReadable(input);
  const past = await recall(input);
  const self = new AgentState(input, past.carry);
  const surface = new Surface(self, input.carry !== undefined);
  self.onChange = () => surface.refresh();
  // What has come meanwhile is handled as soon as there are handlers: the first input goes before it.
  if (input.carry === undefined) comeUp(self, input, past);
  closeOnCancellation(self);
  // Cancelling the workflow closes the tree below it, which takes work of its own: nothing here is cancelled by it.
  return CancellationScope.nonCancellable(async () => {
    // Until it says so, one that was closed counts as that, and nobody heeds what it asks for.
    if (input.carry === undefined && input.restore !== undefined) self.report();
    // What was carried over comes before all else; in the middle of a turn it is for that turn, which may be stopped
    // by it before it takes what has come since.
    if (self.standing.status === 'running') self.beginRunning();
    followWaiting(self);
    registerHandlers(self);
    void lookForDeaths(self);
    if (self.tree?.slots.heldByIdle === true) void lookForStandstill(self, self.tree);
    void followOrders(self);
    surface.refresh();
    if (past.carry === undefined && input.restore === undefined && self.isRoot) {
      await applyRole(self, surface);
    }
    const comesUpIdle =
      input.restore?.kind === 'resume' || (input.opened === true && past.carry === undefined);
    if (comesUpIdle && input.slot === 'queued') await standInLine(self);
    while (self.closing === undefined || self.standing.status === 'running') {
      const outcome = await nextTurn(self, input);
      if (outcome === 'continue_as_new') {
        if (mayMoveOn(self)) await continueInNewRun(self, input);
      } else if (outcome !== undefined) endTurn(self, outcome);
    }
    return closeSelf(self);
  });
}

function comeUp(
  self: AgentState,
  input: AgentInput<AgentCarry>,
  { carry, forked = [], problem }: Past,
): void {
  if (problem !== undefined) giveUp(self, input, problem);
  else if (carry === undefined) begin(self, input, forked);
  else resume(self, input);
}

/** Brings a new agent up: its note and its first input. */
function begin(self: AgentState, input: AgentInput<AgentCarry>, forked: Item[]): void {
  const { identity, settings } = input;
  // They are in the history once, as the result of an activity: the model's worker reads them from here.
  self.conversation.appendKnown(forked);
  const note = fittingNote(input.note ?? '');
  if (note !== undefined) self.standing.setNote(note, Date.now());
  if (input.input !== undefined) self.inbox.accept(input.input);
  if (input.opened === true) self.inbox.hold();
  self.emit({
    type: 'session.started',
    source: identity.source.kind,
    model: settings.model,
    provider: settings.provider,
    ...(note === undefined ? {} : { thread_note: note }),
  });
}

/** Brings an agent back that was closed; it does nothing until it gets input, also where some waited when it closed. */
function resume(self: AgentState, input: AgentInput<AgentCarry>): void {
  const held = self.reopen();
  if (held > 0) {
    self.warn(
      `${counted(held, 'input')} that had come before ${self.id} was closed ${held === 1 ? 'waits' : 'wait'} for the next one, and will be delivered before it: send it input (cadre send ${self.id} TEXT) to make it go on.`,
    );
  }
  if (input.input !== undefined) self.inbox.accept(input.input);
  self.emitOwnStatus();
}

/** Where open agents hold slots, one that comes back takes input only when it has one, as one that is new would. */
async function standInLine(self: AgentState): Promise<void> {
  const refusal = await takeSlot(self);
  if (self.closing !== undefined) return;
  if (refusal !== undefined) self.warn(`It is back without a slot. ${refusal.message}`);
  // It holds it, and does nothing yet.
  else if (!self.inbox.hasInput) releaseSlot(self, self.id);
  self.report();
}

/** The next thing to do: a turn, or nothing when the agent is about to close. */
async function nextTurn(
  self: AgentState,
  input: AgentInput<AgentCarry>,
): Promise<TurnOutcome | 'continue_as_new' | undefined> {
  const { standing, inbox } = self;
  // A run that continues another one may find itself in the middle of a turn.
  if (standing.status === 'running') return runTurn(self);
  if (closesByItself(self)) {
    beginClosing(self, 'the session has settled', true);
    return undefined;
  }
  const wakes = (): boolean => inbox.hasInput || isWokenByNotice(self);
  const isDue = (): boolean =>
    self.closing !== undefined || wakes() || closesByItself(self) || shouldContinueAsNew(self);
  if (!(await untilDue(self, isDue))) return undefined;
  if (self.closing !== undefined || closesByItself(self)) return undefined;
  if (!wakes()) return 'continue_as_new';
  const running = self.beginRunning();
  const refusal = running.stopReason === undefined ? await obtainSlot(self, input, running) : undefined;
  self.running = undefined;
  if (self.closing !== undefined) return undefined;
  if (running.stopReason !== undefined) return endedBefore(self, stopped(self, running));
  if (refusal !== undefined) return endedBefore(self, withoutSlot(refusal));
  startTurn(self);
  self.emitOwnStatus();
  // Whoever got the slot for the first turn knows already that it runs.
  if (standing.turn === 1 && input.slot !== 'queued') self.onChange();
  else self.report();
  const { max_turns: most } = self.settings.limits;
  if (most !== undefined && standing.turn > most) standing.settle(refusedTurn(self, most), Date.now());
  return runTurn(self);
}

/** An interrupt holds until there is input: what children say of their end meanwhile waits for that. */
function isWokenByNotice({ settings, inbox, standing }: AgentState): boolean {
  return settings.limits.wake_parent && standing.status !== 'interrupted' && inbox.hasWakingNotice;
}

/** The turns are used up: what was sent stands in the conversation, but no model sees it. */
function refusedTurn(self: AgentState, most: number): TurnOutcome {
  self.conversation.append(...self.inbox.drain());
  const message = `The limit of ${counted(most, 'turn')} was reached (agents.max_turns).`;
  return { status: 'errored', message, code: 'limit_turns' };
}

/** What it is given once its turn was stopped, it gives back with the end of that. */
async function obtainSlot(
  self: AgentState,
  input: AgentInput<AgentCarry>,
  running: Stoppable,
): Promise<ErrorBody | undefined> {
  // One that was only queued asks itself, since the answer may have come before there was anybody to take it.
  if (self.standing.turn === 0 && input.slot === 'granted') return undefined;
  try {
    return await running.scope.run(() => takeSlot(self));
  } catch (error) {
    if (running.stopReason === undefined) throw error;
    return undefined;
  }
}

/** A one-shot root whose turn has ended, and below which nothing runs. An interrupted one waits for input. */
function closesByItself(self: AgentState): boolean {
  const { session, standing, inbox } = self;
  if (session?.one_shot !== true || inbox.hasInput || !self.hasEndedATurn) return false;
  if (standing.status !== 'completed' && standing.status !== 'errored') return false;
  return !session.wait_agents || !worksBelow(self);
}

/** Native cancellation is how Temporal's own tools end a workflow; here it closes the agent and all below it. */
function closeOnCancellation(self: AgentState): void {
  void CancellationScope.current().cancelRequested.catch(() => {
    self.orders.push({ type: 'shutdown', reason: 'its workflow was cancelled' });
  });
}
