import type { Client } from '@temporalio/client';
import {
  type AgentId,
  type AgentInput,
  behindSummary,
  CadreError,
  counted,
  type Item,
  plainText,
  settledLength,
  TASK_SHOWN,
  WORKFLOW_TYPE,
} from '../protocol/index.ts';
import { AgentLine } from './agent-line.ts';
import { checkedContent } from './checked.ts';
import { checkedSession } from './checked-session.ts';
import { translate } from './errors.ts';
import { itemsOr, lastSeen, sessionSettingsOr } from './left-behind.ts';
import { lastLife } from './resume.ts';
import { searchAttributesNow } from './search-attributes.ts';
import { startRoot } from './start-workflow.ts';
import type { ForkOptions } from './types.ts';

/**
 * Starts a new root from the conversation of an agent, which stays as it is; of one that Temporal keeps no longer, from
 * its rollout.
 *
 * @param id of the new root
 * @returns how many items it takes along
 */
export async function startFork(
  client: Client,
  of: AgentId,
  id: AgentId,
  options: ForkOptions,
): Promise<number> {
  const { input, rollouts } = options;
  const content = input === undefined ? undefined : checkedContent(input, 'input');
  // What it takes over was checked before, maybe by other rules.
  await checkedSession(options.session ?? {});
  const line = new AgentLine(client, of);
  const { type, runId: newest, taskQueue } = await lastSeen(line, rollouts);
  if (type !== WORKFLOW_TYPE) {
    throw new CadreError('agent_not_found', `${of} is a workflow, but not an agent of Cadre.`);
  }
  const { runId, snapshot } = await lastLife(line, newest, rollouts);
  const to = itemsCarried(of, await itemsOr(line, rollouts, runId), options.beforeMessage);
  const { settings, identity } = snapshot;
  const session = await sessionSettingsOr(line, rollouts);
  const search_attributes = await searchAttributesNow(client);
  // What carries nothing along has nothing of that task.
  const task = options.task ?? (content === undefined ? (to === 0 ? '' : identity.task) : plainText(content));
  const start: AgentInput = {
    identity: {
      agent_id: id,
      session_id: id,
      depth: 0,
      source: options.source ?? { kind: 'api' },
      started_at: new Date().toISOString(),
      task: task.slice(0, TASK_SHOWN),
      search_attributes,
    },
    settings,
    session: {
      ...session,
      // Without an input it would have nothing to do, and nothing to end with.
      one_shot: session.one_shot && content !== undefined,
      ...options.session,
      search_attributes,
    },
    restore: { kind: 'fork', agent_id: of, run_id: runId, to },
    ...(content === undefined ? {} : { input: { id: `${id}#start`, content } }),
  };
  try {
    await startRoot(client, options.queue ?? taskQueue, start);
  } catch (error) {
    throw translate(error, id);
  }
  return to;
}

/** How many items stand before the nth user message; all that are settled, where none is named. */
function itemsCarried(of: AgentId, items: readonly Item[], nth: number | undefined): number {
  if (nth === undefined) return settledLength(items);
  if (!Number.isInteger(nth) || nth < 1) {
    throw new CadreError('invalid_arguments', `There is no user message ${nth}: they are counted from 1.`);
  }
  const { index: behind, replaced } = behindSummary(items);
  const { user_messages: before } = replaced;
  if (nth <= before) {
    throw new CadreError('invalid_arguments', `A summary has replaced the user message ${nth} of ${of}.`, {
      hint: `A fork may end before message ${before + 1} or a later one.`,
    });
  }
  const messages = items.flatMap((item, index) =>
    index >= behind && item.type === 'user_message' ? [index] : [],
  );
  const found = messages[nth - before - 1];
  if (found !== undefined) return found;
  throw new CadreError(
    'invalid_arguments',
    `agent ${of} has ${counted(before + messages.length, 'user message')}; there is no message ${nth}.`,
    { hint: 'Without a number the whole conversation is taken.' },
  );
}
