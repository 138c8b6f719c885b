import type { AgentSettings, ApprovalNeed, RoleAnswer, RoleRequest } from '../../protocol/index.ts';
import { resolveRole } from '../activity-calls.ts';
import type { AgentState } from '../agent-state.ts';
import { askApproval, missApproval } from './approval.ts';
import { presentedBy } from './fork-context.ts';
import { Refused } from './refused.ts';
import type { SpawnRequest } from './spawn-request.ts';

/**
 * What a new agent is to be: the call goes before the persona, the role and what it inherits. A person is asked first
 * where the call needs it.
 *
 * @throws Refused for a role, model, effort or folder that cannot be had
 */
export async function effectiveSettings(
  agent: AgentState,
  request: SpawnRequest,
): Promise<Omit<Extract<RoleAnswer, { ok: true }>, 'ok'>> {
  // They are large, and a child in the same folder has them in its own input: they need not enter the history here.
  const { project_docs: docs, ...inherited } = agent.settings;
  const asked: RoleRequest = {
    session_id: agent.identity.session_id,
    inherited,
    ...(docs === undefined ? {} : { has_project_docs: true }),
    role: request.role,
    ...(request.persona === undefined ? {} : { persona: request.persona }),
    ...(request.model === undefined ? {} : { model: request.model }),
    ...(request.reasoningEffort === undefined ? {} : { reasoning_effort: request.reasoningEffort }),
    ...(request.workingDirectory === undefined ? {} : { working_directory: request.workingDirectory }),
    ...(request.allowedTools === undefined ? {} : { allowed_tools: request.allowedTools }),
    ...(request.forkContext === true ? { with_text: true } : {}),
    ...(request.sandboxMode === undefined ? {} : { sandbox_mode: request.sandboxMode }),
    ...(request.approvalPolicy === undefined ? {} : { approval_policy: request.approvalPolicy }),
  };
  const answer = await allowedAnswer(agent, asked, request.callId);
  if (!answer.ok) {
    if (answer.error.code === 'approval_unavailable') missApproval(agent, request.callId);
    throw new Refused(answer.error);
  }
  const { ok: _, settings, ...role } = answer;
  const limits = { ...settings.limits };
  limits.max_steps = Math.min(limits.max_steps, request.maxSteps ?? limits.max_steps);
  limits.max_turns = tighter(limits.max_turns, request.maxTurns);
  limits.max_runtime_ms = tighter(limits.max_runtime_ms, request.maxRuntimeMs);
  limits.max_tokens = tighter(limits.max_tokens, limits.max_child_tokens);
  if (request.maxLevelsBelow !== undefined) {
    const deepest = agent.identity.depth + 1 + request.maxLevelsBelow;
    limits.max_depth = Math.min(limits.max_depth, deepest);
  }
  const isSameFolder = settings.working_directory === inherited.working_directory;
  const own = {
    ...(docs !== undefined && isSameFolder ? { project_docs: docs } : {}),
    ...(request.taskInInstructions === true ? { task_in_instructions: true } : {}),
    ...(request.resultSections === true ? { result_sections: true } : {}),
    ...(request.instructions === undefined ? {} : { instructions: request.instructions }),
    ...(request.opened === true ? { scoped: true } : {}),
    // The tools that it is shown are those that it can call.
    ...(request.forkContext === true
      ? { presented: presentedBy(agent), dialect: agent.settings.dialect }
      : {}),
  };
  return { settings: { ...inheritable(settings), limits, ...own }, ...role };
}

/** Without what holds for the agent alone that has it. */
function inheritable(settings: AgentSettings): AgentSettings {
  const {
    presented: _presented,
    task_in_instructions: _task,
    result_sections: _sections,
    scoped: _scoped,
    ...inherited
  } = settings;
  return inherited;
}

/** Asks a person where the call needs it, and what the role makes of it then. */
async function allowedAnswer(agent: AgentState, asked: RoleRequest, callId: string): Promise<RoleAnswer> {
  // What a person is being asked since an earlier run is not looked up anew: it may have changed meanwhile.
  let need: ApprovalNeed | undefined = agent.step?.parked(callId)?.approval;
  if (need === undefined) {
    const answer = await answerFor(agent, asked, callId);
    if (answer.ok || answer.needs_approval === undefined) return answer;
    need = answer.needs_approval;
  }
  // A person may take days, for which the agents that were asked for beside it do not wait.
  agent.spawnLine.leave(callId);
  const refusal = await askApproval(agent, need, callId);
  if (refusal !== undefined) throw new Refused(refusal);
  // The folder that was asked about, and no other that a link may lead to by now.
  const { path: folder } = need;
  const place = folder === undefined ? {} : { working_directory: folder };
  return answerFor(agent, { ...asked, ...place, approved: true }, callId);
}

/** Agents that one model answer starts alike are asked for once; a client is answered anew each time. */
function answerFor(agent: AgentState, request: RoleRequest, callId: string): Promise<RoleAnswer> {
  const { inherited: _same, ...asked } = request;
  const summary = `role ${request.role ?? 'default'}`;
  if (agent.operations.has(callId)) return resolveRole(request, summary);
  const key = JSON.stringify(asked);
  const known = agent.roleAnswers.get(key) ?? resolveRole(request, summary);
  agent.roleAnswers.set(key, known);
  return known;
}

function tighter(inherited: number | undefined, asked: number | undefined): number | undefined {
  if (inherited === undefined || asked === undefined) return inherited ?? asked;
  return Math.min(inherited, asked);
}
