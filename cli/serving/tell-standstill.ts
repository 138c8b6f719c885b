import pLimit from 'p-limit';
import { standsStill } from '../../client/task-failure.ts';
import type { TaskFailure } from '../../client/types.ts';
import type { AgentId, AgentView } from '../../protocol/index.ts';
import type { Output } from '../output.ts';
import type { Workplace } from '../workplace.ts';

const AT_ONCE = 8;

/** An agent whose workers fail looks, in what others know of it, like one that is at work. */
export async function tellStandstill(
  output: Output,
  place: Pick<Workplace, 'link'>,
  agents: readonly Pick<AgentView, 'agent_id' | 'closed'>[],
): Promise<void> {
  const limit = pLimit(AT_ONCE);
  const open = agents.filter(({ closed }) => !closed);
  await Promise.all(open.map(({ agent_id: id }) => limit(() => tell(output, place, id))));
}

async function tell(output: Output, place: Pick<Workplace, 'link'>, id: AgentId): Promise<void> {
  const { task_failure: failure } = await place.link.reach((client) => client.get(id).describe());
  if (failure !== undefined) output.warn(standstillLine(id, failure));
}

export function standstillLine(id: AgentId, failure: TaskFailure): string {
  const { message, hint = '' } = standsStill(id, failure);
  return `${message}. ${hint}`;
}
