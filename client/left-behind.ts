import {
  CadreError,
  type Item,
  isUnreplayable,
  QUERIES,
  type RolloutAgent,
  type SessionId,
  type SessionSettings,
  type SnapshotPage,
  sessionOf,
  WORKFLOW_TYPE,
} from '../protocol/index.ts';
import type { Rollout } from '../rollout/rollout.ts';
import type { Rollouts } from '../rollout/rollouts.ts';
import { snapshotOf } from '../rollout/snapshot-of.ts';
import { AgentLine } from './agent-line.ts';
import { isMissing } from './is-missing.ts';
import { shownItems } from './whole-conversation.ts';

/** Stands for the status of an execution that is no more. */
export const GONE = 'GONE';

/** What an agent's newest execution is, as far as anybody keeps it. */
export interface LastSeen {
  type: string;
  status: { name: string };
  runId: string;
  taskQueue: string;
}

/** What Temporal's server says of an agent; of one that it keeps no longer, what the rollout of its session does. */
export async function lastSeen(line: AgentLine, rollouts: Rollouts | undefined): Promise<LastSeen> {
  try {
    return await line.describe();
  } catch (error) {
    if (!isMissing(error)) throw error;
    const rollout = await rollouts?.find(sessionOf(line.id));
    const agent = rollout?.agent(line.id);
    if (rollouts !== undefined && rollout === undefined) throw nowhere(line, rollouts, error);
    if (rollout === undefined || agent === undefined) throw error;
    const { queue: taskQueue } = rollout.header;
    return { type: WORKFLOW_TYPE, status: { name: GONE }, runId: agent.run_id, taskQueue };
  }
}

function nowhere({ id }: AgentLine, { folders }: Rollouts, cause: CadreError): CadreError {
  const message = `There is no agent ${id} on the server, and no rollout of its session in ${folders.join(' or ')}.`;
  return new CadreError('agent_not_found', message, {
    hint: 'Check the id. A session that has closed is also found where its rollout lies: [rollouts] directory names the folder of a queue’s workers, and `cadre import FILE` takes in what `cadre export` has written.',
    cause,
  });
}

/**
 * A `snapshot` of a run without items, or where Temporal keeps that run no longer, or no worker can replay it, the same
 * from the rollout.
 */
export async function snapshotOr(
  line: AgentLine,
  rollouts: Rollouts | undefined,
  runId: string,
  asked: Promise<SnapshotPage>,
): Promise<SnapshotPage> {
  return orLeft(asked, rollouts, line, async (rollout) => {
    const agent = agentOfRun(rollout, line, runId);
    return agent === undefined ? undefined : snapshotOf(agent);
  });
}

/** What the model of an agent was shown at the end of a run, from that run or from the rollout. */
export function itemsOr(line: AgentLine, rollouts: Rollouts | undefined, runId: string): Promise<Item[]> {
  return orLeft(shownItems(line, runId), rollouts, line, async (rollout) => {
    if (agentOfRun(rollout, line, runId) === undefined) return undefined;
    const items: Item[] = [];
    for await (const each of rollout.linesOf(line.id)) if (each.type === 'item') items.push(each.item);
    return items;
  });
}

/** What the agents of a session share, from its root or from the rollout. */
export function sessionSettingsOr(line: AgentLine, rollouts: Rollouts | undefined): Promise<SessionSettings> {
  const root: SessionId = sessionOf(line.id);
  const asked = new AgentLine(line.client, root).query<SessionSettings>(QUERIES.session);
  return orLeft(asked, rollouts, line, async (rollout) => rollout.agent(root)?.session);
}

/** @throws what was answered, where no rollout has it either */
async function orLeft<T>(
  asked: Promise<T>,
  rollouts: Rollouts | undefined,
  line: AgentLine,
  read: (rollout: Rollout) => Promise<T | undefined>,
): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!isMissing(error) && !isUnreplayable(error)) throw error;
    const rollout = await rollouts?.find(sessionOf(line.id));
    const left = rollout === undefined ? undefined : await read(rollout);
    if (left === undefined) throw error;
    return left;
  }
}

function agentOfRun(rollout: Rollout, line: AgentLine, runId: string): RolloutAgent | undefined {
  const agent = rollout.agent(line.id);
  return agent?.run_id === runId ? agent : undefined;
}
