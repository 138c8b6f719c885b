import { condition } from '@temporalio/workflow';
import type { AgentId } from '../../protocol/index.ts';
import { bodyOf, findEnded } from '../activity-calls.ts';
import type { AgentState } from '../agent-state.ts';
import { OUTSIDE } from '../standing.ts';

const PAUSE_MS = 60_000;

/**
 * Looks from time to time whether children still run of whose abrupt end this run does not hear: the server tells only
 * the run that has begun their lives. While none of them works it does nothing at all.
 */
export async function lookForDeaths(agent: AgentState): Promise<never> {
  const isIdle = (): boolean => agent.closing !== undefined || !agent.children.unheard.some(works(agent));
  // A run that goes on looks at once: nobody has looked in the moment between it and the one before.
  for (let paused = !isIdle(); ; paused = false) {
    if (isIdle()) await condition(() => !isIdle());
    const isOver =
      !paused && (await condition(isIdle, PAUSE_MS, { summary: 'look whether agents still run' }));
    if (isOver) continue;
    const unheard = agent.children.unheard.map(({ id }) => id);
    await look(agent, unheard, (id) => agent.children.life(id));
  }
}

function works({ children }: AgentState): (known: { id: AgentId }) => boolean {
  const working = new Set(children.working.map(({ id }) => id));
  return ({ id }) => working.has(id);
}

/**
 * Looks whether agents have ended that have not said so, and takes those for lost.
 *
 * @param lifeOf the newest that is known to have begun
 */
async function look(
  agent: AgentState,
  ids: AgentId[],
  lifeOf: (id: AgentId) => number | undefined,
): Promise<void> {
  const lives = new Map(ids.map((id) => [id, lifeOf(id)]));
  try {
    const { ended } = await findEnded({ agents: ids });
    for (const id of ended) {
      const life = lives.get(id);
      // What it has said last stands before this.
      if (life !== undefined) agent.orders.push({ type: 'death', id, life, reason: OUTSIDE });
    }
  } catch (error) {
    agent.warn(`nobody could look whether agents still run: ${bodyOf(error).message}`);
  }
}

/** The root looks whether agents have ended of which somebody supposes so. */
export async function suspect(root: AgentState, ids: readonly AgentId[]): Promise<void> {
  const { tree } = root;
  const open = tree?.openIds.filter((id) => ids.includes(id)) ?? [];
  if (open.length > 0) await look(root, open, (id) => tree?.life(id));
}
