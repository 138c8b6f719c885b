import { AGENT_ID_MAX, childId, isChildName } from '../../protocol/ids.ts';
import type { AgentId } from '../../protocol/index.ts';
import { lengthProblem } from '../../protocol/text-length.ts';
import type { AgentState } from '../agent-state.ts';
import { Refused } from './refused.ts';

/**
 * The id of an agent that is about to start: with the name that the caller gives, or its role and a number.
 *
 * @throws Refused for a name that is none, or was given before
 */
export function chooseId(agent: AgentState, role: string, name: string | undefined): AgentId {
  if (name === undefined) {
    const kind = segmentOf(role);
    for (;;) {
      const id = childId(agent.id, `${kind}-${agent.children.nextNumber(kind)}`);
      requireFittingId(id);
      if (isFree(agent, id)) return id;
    }
  }
  if (!isChildName(name)) {
    throw new Refused({
      code: 'invalid_arguments',
      message: `"${name}" cannot be an agent's name`,
      hint: 'Use letters, digits, dots, dashes and underscores, at most 64.',
    });
  }
  const id = childId(agent.id, name);
  requireFittingId(id);
  if (!isFree(agent, id)) {
    throw new Refused({
      code: 'invalid_arguments',
      message: `there has been an agent ${id} before; ids are never reused`,
      hint: 'Choose another name.',
    });
  }
  return id;
}

function isFree(agent: AgentState, id: AgentId): boolean {
  return agent.children.get(id) === undefined && !agent.starting.has(id);
}

function requireFittingId(id: AgentId): void {
  const problem = lengthProblem(id, AGENT_ID_MAX);
  if (problem === undefined) return;
  throw new Refused({
    code: 'limit_depth',
    message: `the id of a new agent here would be ${problem}: those above it have long names`,
    hint: 'Solve the task yourself, or have an agent further up start it.',
  });
}

/** A role's name as it may stand in an id, whatever the file is called that describes the role. */
function segmentOf(role: string): string {
  const safe = role.replaceAll(/[^A-Za-z0-9._-]/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  return safe === '' ? 'agent' : safe.slice(0, 48);
}
