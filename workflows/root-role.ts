import { condition } from '@temporalio/workflow';
import type { RoleAnswer, RoleRequest } from '../protocol/index.ts';
import { problemOf, resolveRole } from './activity-calls.ts';
import type { AgentState } from './agent-state.ts';
import { Stoppable } from './stoppable.ts';
import type { Surface } from './surface.ts';
import { endedBefore, endTurn } from './turn-bounds.ts';
import { stopped } from './turn-limits.ts';

/** What its role makes of the settings of a root; a child's were resolved by its parent. */
export async function applyRole(self: AgentState, surface: Surface): Promise<void> {
  const work = new Stoppable();
  const resolved: { answer?: RoleAnswer } = {};
  const asked = work.scope
    .run(() => rootRole(self))
    .then((answer) => {
      resolved.answer = answer;
    });
  void self.sideWork.track(asked, work);
  while (resolved.answer === undefined) {
    const running = self.beginRunning();
    await condition(() => resolved.answer !== undefined || running.stopReason !== undefined);
    self.running = undefined;
    // An interrupt ends the turn that waits for the role, and not the reading of it, which the next turn needs.
    if (self.closing === undefined && running.stopReason !== undefined && self.inbox.holdsInput) {
      endTurn(self, endedBefore(self, stopped(self, running)));
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
