import { AGENT_ID_MAX, isAgentId, sessionOf } from '../../protocol/ids.ts';
import type { AgentId, Lookup } from '../../protocol/index.ts';
import { isFinal } from '../../protocol/status.ts';
import { lengthProblem } from '../../protocol/text-length.ts';
import type { AgentState } from '../agent-state.ts';
import { answerLookup } from '../ledger.ts';
import { Refused } from './refused.ts';

/**
 * Finds the agents that references mean. Children are known here; for others the root is asked, and with `watch`
 * it keeps sending their reports, until `unwatch`.
 *
 * @param options.watch the id under which they are watched
 * @returns the id for each reference; undefined where there is no such agent in this session
 * @throws Refused for a reference that several agents answer to, or that is longer than any id
 */
export async function resolveAgents(
  agent: AgentState,
  references: readonly string[],
  options: { watch?: string } = {},
): Promise<Map<string, AgentId | undefined>> {
  const resolved = new Map<string, AgentId | undefined>();
  const unknown: string[] = [];
  for (const reference of new Set(references)) {
    requireLength(reference);
    const own = ownAgent(agent, reference);
    if (own !== undefined) resolved.set(reference, own);
    else if (isAgentId(reference) && sessionOf(reference) !== agent.identity.session_id) {
      resolved.set(reference, undefined);
    } else unknown.push(reference);
  }
  if (unknown.length === 0) return resolved;
  for (const found of await lookup(agent, unknown, options.watch)) {
    if (found.candidates.length > 1) {
      throw new Refused({
        code: 'agent_ambiguous',
        message: `"${found.reference}" may mean ${found.candidates.join(' or ')}`,
        hint: 'Give the full id.',
      });
    }
    if (found.report !== undefined) agent.children.apply(found.report);
    resolved.set(found.reference, found.candidates[0]);
  }
  return resolved;
}

/** Like `resolveAgents` for one that has to exist. */
export async function resolveAgent(agent: AgentState, reference: string): Promise<AgentId> {
  const id = (await resolveAgents(agent, [reference])).get(reference);
  if (id !== undefined) return id;
  const open = agent.children.ids;
  throw new Refused({
    code: 'agent_not_found',
    message: `there is no agent "${reference}" in this session`,
    hint: open.length === 0 ? 'You have started no agents.' : `Your agents: ${open.join(', ')}`,
  });
}

/** Whoever is asked would have to say it again. */
function requireLength(reference: string): void {
  const problem = lengthProblem(reference, AGENT_ID_MAX);
  if (problem === undefined) return;
  throw new Refused({
    code: 'invalid_arguments',
    message: `the id of an agent is ${problem}: ${JSON.stringify(reference.slice(0, 40))}…`,
    hint: 'Give an id as spawn_agent or list_active_agents has told it.',
  });
}

function ownAgent(agent: AgentState, reference: string): AgentId | undefined {
  const { session_id: session } = agent.identity;
  const candidates = [reference, `${session}/${reference}`, `${agent.id}/${reference}`];
  return agent.children.ids.find((id) => candidates.includes(id));
}

/** Nobody waits any more for those that were watched under that id. */
export function unwatch(agent: AgentState, watch: string): void {
  if (agent.tree !== undefined) agent.tree.watches.end(watch, agent.id);
  else agent.postToRoot({ type: 'unwatch', request_id: watch, from: agent.id });
}

async function lookup(agent: AgentState, references: string[], watch: string | undefined) {
  const request: Lookup = {
    request_id: watch ?? agent.nextId('requests'),
    from: agent.id,
    references,
    watch: watch !== undefined,
  };
  if (agent.isRoot) return answerLookup(agent, request).found;
  const mail = { type: 'lookup', lookup: request } as const;
  const answer = await agent.askRoot(mail, agent.lookupAnswers, request.request_id);
  return answer?.found ?? [];
}

/** Whether an agent needs a slot before it can work on new input. */
export function needsSlot(agent: AgentState, receiver: AgentId): boolean {
  const known = agent.children.get(receiver);
  return known === undefined || known.idle === true || isFinal(known.status);
}
