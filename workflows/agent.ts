import { allHandlersFinished, CancellationScope, condition, continueAsNew } from '@temporalio/workflow';
import type { AgentInput, AgentResult, Item, RoleAnswer, RoleRequest } from '../protocol/index.ts';
import { normalizeNote } from '../protocol/messages.ts';
import { problemOf, resolveRole } from './activity-calls.ts';
import { AgentState } from './agent-state.ts';
import type { AgentCarry } from './carry.ts';
import { closeSelf } from './closing.ts';
import { shouldContinueAsNew } from './continue-as-new.ts';
import { registerHandlers } from './handlers.ts';
import { takeSlot } from './operations/slot.ts';
import { beginClosing, followOrders, followWaiting } from './orders.ts';
import { requireReadable } from './readable.ts';
import { giveUp, type Past, recall } from './restore.ts';
import { Stoppable } from './stoppable.ts';
import { Surface } from './surface.ts';
import { runTurn } from './turn.ts';
import { stopped } from './turn-limits.ts';
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
    if (self.standing.status === 'running') self.running = new Stoppable();
    followWaiting(self);
    registerHandlers(self);
    void followOrders(self);
    surface.refresh();
    if (past.carry === undefined && input.restore === undefined && self.isRoot) {
      await applyRole(self, surface);
    }
    if (input.restore?.kind === 'resume' && input.slot === 'queued') await standInLine(self);
    while (self.closing === undefined || self.standing.status === 'running') {
      const outcome = await nextTurn(self, input);
      if (outcome === 'continue_as_new') {
        if (mayMoveOn(self)) return continueInNewRun(self, input);
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
  const note = normalizeNote(input.note ?? '');
  if (note !== undefined) self.standing.setNote(note, Date.now());
  if (input.input !== undefined) self.inbox.accept(input.input);
  self.emit({
    type: 'session.started',
    source: identity.source.kind,
    model: settings.model,
    provider: settings.provider,
    ...(note === undefined ? {} : { thread_note: note }),
  });
}

/** Brings an agent back that was closed; it does nothing until it gets input. */
function resume(self: AgentState, input: AgentInput<AgentCarry>): void {
  self.reopen();
  if (input.input !== undefined) self.inbox.accept(input.input);
  self.emitOwnStatus();
}

/** Where open agents hold slots, one that comes back takes input only when it has one, as one that is new would. */
async function standInLine(self: AgentState): Promise<void> {
  await takeSlot(self);
  if (self.closing === undefined) self.report();
}

/** What its role makes of the settings of a root; a child's were resolved by its parent. */
async function applyRole(self: AgentState, surface: Surface): Promise<void> {
  const work = new Stoppable();
  const resolved: { answer?: RoleAnswer } = {};
  const asked = work.scope
    .run(() => rootRole(self))
    .then((answer) => {
      resolved.answer = answer;
    });
  void self.sideWork.track(asked, work);
  while (resolved.answer === undefined) {
    const running = beginRunning(self);
    await condition(() => resolved.answer !== undefined || running.stopReason !== undefined);
    self.running = undefined;
    // An interrupt ends the turn that waits for the role, and not the reading of it, which the next turn needs.
    if (self.closing === undefined && running.stopReason !== undefined && self.inbox.hasInput) {
      endTurn(self, stoppedBefore(self, running));
    }
  }
  const { answer } = resolved;
  if (self.closing !== undefined) return;
  if (answer.ok) {
    self.settings = answer.settings;
    self.tree?.budget.bound(self.id, answer.settings.limits.max_tokens);
    surface.showSettings();
    return;
  }
  const { message, hint, code } = answer.error;
  const reason = hint === undefined ? message : `${message} ${hint}`;
  self.inbox.drain();
  self.standing.startTurn(Date.now());
  endTurn(self, { status: 'errored', message: reason, code });
}

async function rootRole(self: AgentState): Promise<RoleAnswer> {
  const { role, persona } = self.settings;
  const request: RoleRequest = {
    session_id: self.identity.session_id,
    inherited: self.settings,
    role,
    ...(persona === undefined ? {} : { persona }),
  };
  try {
    return await resolveRole(request, `role ${role}`);
  } catch (error) {
    const problem = problemOf(error);
    if (problem.kind === 'failed') return { ok: false, error: problem };
    return { ok: false, error: { code: 'internal', message: `role ${role} could not be read` } };
  }
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
  const wakes = (): boolean => inbox.hasInput || (self.settings.limits.wake_parent && inbox.hasNotice);
  const isDue = (): boolean =>
    self.closing !== undefined || wakes() || closesByItself(self) || shouldContinueAsNew(self);
  if (!(await untilDue(self, isDue))) return undefined;
  if (self.closing !== undefined || closesByItself(self)) return undefined;
  if (!wakes()) return 'continue_as_new';
  const running = beginRunning(self);
  if (running.stopReason === undefined) await obtainSlot(self, input, running);
  self.running = undefined;
  if (self.closing !== undefined) return undefined;
  if (running.stopReason !== undefined) return stoppedBefore(self, running);
  standing.startTurn(Date.now());
  self.emit({ type: 'turn.started', turn: standing.turn });
  self.emitOwnStatus();
  // Whoever got the slot for the first turn knows already that it runs.
  if (standing.turn === 1 && input.slot !== 'queued') self.onChange();
  else self.report();
  const { max_turns: most } = self.settings.limits;
  if (most !== undefined && standing.turn > most) standing.settle(refusedTurn(self, most), Date.now());
  return runTurn(self);
}

/**
 * Waits for the next thing to do. The time that the agent may be idle runs while nothing is pending: no agents of its
 * that work, and nothing that a client has asked of it.
 *
 * @returns false when the agent was given up, since nothing had come for so long
 */
async function untilDue(self: AgentState, isDue: () => boolean): Promise<boolean> {
  const { max_runtime_ms: idle } = self.settings.limits;
  const isPending = (): boolean => self.sideWork.busy || self.children.working.length > 0;
  while (!isDue()) {
    if (idle === undefined) await condition(isDue);
    else if (isPending()) await condition(() => isDue() || !isPending());
    else if (!(await condition(() => isDue() || isPending(), idle, { summary: 'agents.max_runtime_ms' }))) {
      if (isDue() || isPending()) continue;
      endIdleness(self, idle);
      return false;
    }
  }
  return true;
}

function endIdleness(self: AgentState, idle: number): void {
  const { standing } = self;
  const limit = `The limit of ${idle} ms without any activity was reached (agents.max_runtime_ms).`;
  const last = standing.status === 'completed' && standing.message ? ` Handed back: ${standing.message}` : '';
  standing.endTurn('errored', limit + last, 'limit_runtime', Date.now());
  self.emitOwnStatus();
  self.report();
  beginClosing(self, limit, true);
}

/** The turns are used up: what was sent stands in the conversation, but no model sees it. */
function refusedTurn(self: AgentState, most: number): TurnOutcome {
  self.conversation.append(...self.inbox.drain());
  const message = `The limit of ${most} turns was reached (agents.max_turns).`;
  return { status: 'errored', message, code: 'limit_turns' };
}

/** From here on the next turn can be stopped; it may have been already, before this agent got to it. */
function beginRunning(self: AgentState): Stoppable {
  self.running ??= new Stoppable();
  return self.running;
}

/** A turn that was stopped before its first model call: what it was for stands in the conversation. */
function stoppedBefore(self: AgentState, running: Stoppable): TurnOutcome {
  self.conversation.append(...self.inbox.drain());
  self.standing.startTurn(Date.now());
  self.emit({ type: 'turn.started', turn: self.standing.turn });
  return stopped(self, running);
}

/** What it is given once its turn was stopped, it gives back with the end of that. */
async function obtainSlot(
  self: AgentState,
  input: AgentInput<AgentCarry>,
  running: Stoppable,
): Promise<void> {
  // One that was only queued asks itself, since the answer may have come before there was anybody to take it.
  if (self.standing.turn === 0 && input.slot === 'granted') return;
  try {
    await running.scope.run(() => takeSlot(self));
  } catch (error) {
    if (running.stopReason === undefined) throw error;
  }
}

/** A one-shot root whose turn has ended, and below which nothing runs. An interrupted one waits for input. */
function closesByItself(self: AgentState): boolean {
  const { session, standing, tree, inbox } = self;
  if (session?.one_shot !== true || inbox.hasInput || !self.hasEndedATurn) return false;
  if (standing.status !== 'completed' && standing.status !== 'errored') return false;
  return !session.wait_agents || tree?.busy !== true;
}

function endTurn(self: AgentState, outcome: TurnOutcome): void {
  const { standing } = self;
  const now = Date.now();
  const { status, message } = outcome;
  const { turn } = standing;
  const duration_ms = now - standing.turnStarted;
  const code = status === 'errored' ? outcome.code : undefined;
  standing.endTurn(status, message, code, now);
  switch (outcome.status) {
    case 'completed':
      self.emit({ type: 'turn.completed', turn, message, duration_ms });
      break;
    case 'errored':
      self.emit({ type: 'turn.failed', turn, reason: message, code: outcome.code, duration_ms });
      break;
    case 'interrupted':
      self.conversation.append({ type: 'notice', text: `The turn was interrupted: ${message}` });
      self.emit({ type: 'turn.interrupted', turn, reason: message, duration_ms });
      break;
  }
  self.emitOwnStatus();
  self.ended = { turn, status, message, duration_ms };
  // One that closes says so, and this with it, when what is below has closed.
  if (self.closing === undefined) self.report();
}

/** Native cancellation is how Temporal's own tools end a workflow; here it closes the agent and all below it. */
function closeOnCancellation(self: AgentState): void {
  void CancellationScope.current().cancelRequested.catch(() => {
    self.orders.push({ type: 'shutdown', reason: 'its workflow was cancelled' });
  });
}

/** Whether it is still so, and nothing has come that is for this run. */
function mayMoveOn(self: AgentState): boolean {
  return self.closing === undefined && self.running?.stopReason === undefined && shouldContinueAsNew(self);
}

/**
 * Goes on in a new run, with nothing under way: all that was sent has arrived, all that came is carried. Orders are
 * no longer followed here: an interrupt would find no turn to stop, and a closing would be forgotten.
 */
async function continueInNewRun(self: AgentState, input: AgentInput<AgentCarry>): Promise<never> {
  self.movesOn = true;
  await condition(() => self.outbox.isEmpty && allHandlersFinished());
  const { identity, session } = input;
  return continueAsNew<typeof agent>({
    identity,
    settings: self.settings,
    ...(session === undefined ? {} : { session }),
    ...(input.input === undefined ? {} : { input: input.input }),
    carry: self.carry,
  });
}
