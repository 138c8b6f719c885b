import type { AgentState } from './agent-state.ts';
import { tellTurnEnded } from './trace-sink.ts';
import type { TurnOutcome } from './turn-outcome.ts';

export function startTurn(self: AgentState): void {
  self.standing.startTurn(Date.now());
  self.conversation.beginTurn();
  self.emit({ type: 'turn.started', turn: self.standing.turn });
}

/** A turn that has ended before its first model call: what it was for stands in the conversation. */
export function endedBefore(self: AgentState, outcome: TurnOutcome): TurnOutcome {
  // What has come since an interrupt is for the next turn.
  const items = outcome.status === 'interrupted' ? self.inbox.drainHeld() : self.inbox.drain();
  self.conversation.append(...items);
  startTurn(self);
  return outcome;
}

/** Puts the end of a turn where people, the model, and whoever has the agent work see it. */
export function endTurn(self: AgentState, outcome: TurnOutcome): void {
  const { standing } = self;
  const now = Date.now();
  const { status, message } = outcome;
  const { turn } = standing;
  const duration_ms = now - standing.turnStarted;
  const code = status === 'errored' ? outcome.code : undefined;
  tellTurnEnded(self, outcome);
  standing.endTurn(status, message, code, now);
  if (status !== 'interrupted') self.inbox.release();
  switch (outcome.status) {
    case 'completed':
      self.emit({ type: 'turn.completed', turn, message, duration_ms });
      break;
    case 'errored':
      self.emit({ type: 'turn.failed', turn, reason: message, code: outcome.code, duration_ms });
      break;
    case 'interrupted':
      self.conversation.append(...self.inbox.drainHeld());
      self.conversation.append({ type: 'notice', text: `The turn was interrupted: ${message}` });
      self.emit({ type: 'turn.interrupted', turn, reason: message, duration_ms });
      break;
  }
  self.emitOwnStatus();
  const along = outcome.status === 'interrupted' && outcome.along === true;
  const usage = standing.turnUsage;
  self.ended = {
    turn,
    status,
    message,
    duration_ms,
    ...(usage === undefined ? {} : { usage }),
    ...(along ? { along } : {}),
  };
  // One that closes says so, and this with it, when what is below has closed.
  if (self.closing === undefined) self.report();
}
