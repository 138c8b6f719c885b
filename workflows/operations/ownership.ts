import { isBelow } from '../../protocol/ids.ts';
import type { AgentId } from '../../protocol/index.ts';
import type { AgentState } from '../agent-state.ts';
import { Refused } from './refused.ts';

/** Of what is not its own, an agent may manage only what is below it; the root, all of its session. */
export function requireBelow(agent: AgentState, id: AgentId, what: string): void {
  if (agent.isRoot || isBelow(id, agent.id)) return;
  throw new Refused({
    code: 'not_permitted',
    message: `agent ${agent.id} may ${what} only itself and agents below it, not ${id}`,
    hint: 'Ask its parent or the root.',
  });
}
