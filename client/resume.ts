import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import {
  type AgentId,
  type AgentInput,
  type AgentView,
  type BroughtBack,
  CadreError,
  type ErrorBody,
  findLastLife,
  parentOf,
  QUERIES,
  type SnapshotPage,
  sessionOf,
  WORKFLOW_TYPE,
} from '../protocol/index.ts';
import { isStillThere } from '../protocol/lives.ts';
import type { Rollouts } from '../rollout/rollouts.ts';
import { AgentLine } from './agent-line.ts';
import { translate } from './errors.ts';
import { GONE, type LastSeen, lastSeen, snapshotOr } from './left-behind.ts';
import { operate } from './operate.ts';
import { refusalIn } from './refusal.ts';
import { searchAttributesNow } from './search-attributes.ts';
import { startRoot } from './start-workflow.ts';
import type { ResumeOptions } from './types.ts';

const READING_MS = 300;

/**
 * Brings a closed agent back, and with `recursive` what was open below it. An open one is left as it is.
 *
 * @throws CadreError for the agent itself; what is below it comes back as far as that can be done
 */
export async function bringBack(
  client: Client,
  id: AgentId,
  recursive: boolean,
  from: ResumeFrom = {},
): Promise<BroughtBack> {
  const back =
    parentOf(id) === undefined
      ? await bringRootBack(client, id, recursive, from)
      : await bringBackBelow(client, id, recursive);
  const resumed: AgentId[] = [];
  const { not_resumed } = back;
  // Back is who answers: until then an agent reads what it was, and needs a worker for that.
  for (const each of back.resumed) {
    const error = await failureOf(client, each);
    if (error === undefined) resumed.push(each);
    else not_resumed.push({ agent_id: each, error });
  }
  const own = not_resumed.find(({ agent_id }) => agent_id === id);
  if (own !== undefined) throw asError(own.error);
  return { resumed, not_resumed };
}

/** Why an agent that was started again is not back after all. */
async function failureOf(client: Client, id: AgentId): Promise<ErrorBody | undefined> {
  try {
    const line = new AgentLine(client, id);
    await untilRead(line);
    const { status, closed, message = '' } = await line.query<AgentView>(QUERIES.status);
    if (!closed || status !== 'errored') return undefined;
    return { code: 'agent_not_resumable', message: `agent ${id}: ${message}` };
  } catch (error) {
    if (error instanceof CadreError) return error.body;
    throw error;
  }
}

/** As long as an agent reads what it was, which takes its time where that is much, it answers nothing else. */
async function untilRead(line: AgentLine): Promise<void> {
  for (;;) {
    const range = { from: 0, to: 0 };
    const { unrestored, closed } = await line.query<SnapshotPage>(QUERIES.snapshot, range);
    if (unrestored === undefined || closed) return;
    if (!isStillThere((await line.describe()).status.name)) return;
    await sleep(READING_MS);
  }
}

/** One that has closed and still leaves its rollout is about to end: it is neither open nor can it begin anew. */
async function untilEnded(line: AgentLine, seen: LastSeen): Promise<LastSeen> {
  if (seen.type !== WORKFLOW_TYPE || !isStillThere(seen.status.name)) return seen;
  const view = await line.query<AgentView>(QUERIES.status).catch(() => undefined);
  if (view?.closed !== true) return seen;
  // However it ends.
  await line.result().catch(() => {});
  return line.describe();
}

/** Where a root is found that Temporal keeps no longer, and the queue that it goes on at then. */
export type ResumeFrom = Pick<ResumeOptions, 'rollouts' | 'queue'>;

async function bringRootBack(
  client: Client,
  id: AgentId,
  recursive: boolean,
  { rollouts, queue }: ResumeFrom,
): Promise<BroughtBack> {
  const line = new AgentLine(client, id);
  const { type, status, runId: newest, taskQueue } = await untilEnded(line, await lastSeen(line, rollouts));
  if (type !== WORKFLOW_TYPE) {
    throw new CadreError('agent_not_found', `${id} is a workflow, but not an agent of Cadre.`);
  }
  if (isStillThere(status.name)) return { resumed: [], not_resumed: [] };
  const { runId, snapshot, reports } = await lastLife(line, newest, rollouts);
  const { settings, session, note, open_children: children } = snapshot;
  const known = await searchAttributesNow(client);
  const input: AgentInput = {
    identity: { ...snapshot.identity, search_attributes: known },
    settings,
    ...(session === undefined ? {} : { session: { ...session, search_attributes: known } }),
    ...(note === undefined ? {} : { note }),
    restore: { kind: 'resume', run_id: runId, reports },
  };
  try {
    await startRoot(client, status.name === GONE ? (queue ?? taskQueue) : taskQueue, input);
  } catch (error) {
    // Somebody else has just done the same.
    if (error instanceof WorkflowExecutionAlreadyStartedError) return { resumed: [], not_resumed: [] };
    throw translate(error, id);
  }
  const back: BroughtBack = { resumed: [id], not_resumed: [] };
  for (const child of recursive ? children : []) {
    const below = await bringBackBelow(client, child, true).catch((error: unknown): BroughtBack => {
      if (!(error instanceof CadreError)) throw error;
      return { resumed: [], not_resumed: [{ agent_id: child, error: error.body }] };
    });
    back.resumed.push(...below.resumed);
    back.not_resumed.push(...below.not_resumed);
  }
  return back;
}

/** What an agent was. The items are read by the agent that is started; this asks for none. */
export function lastLife(line: AgentLine, newest: string, rollouts?: Rollouts) {
  return findLastLife(newest, (runId) =>
    snapshotOr(line, rollouts, runId, line.query(QUERIES.snapshot, { from: 0, to: 0 }, runId)),
  );
}

/** The root starts it again: it keeps the slots, and whoever is below it reports to it. */
async function bringBackBelow(client: Client, id: AgentId, recursive: boolean): Promise<BroughtBack> {
  const root = sessionOf(id);
  try {
    const { success, output } = await operate(new AgentLine(client, root), {
      operation: 'resume',
      agent_id: id,
      recursive,
    });
    return success ? (JSON.parse(output) as BroughtBack) : refused(id, output);
  } catch (error) {
    if (!(error instanceof CadreError) || error.code !== 'agent_closed') throw error;
    throw new CadreError(
      'agent_not_resumable',
      `agent ${id} cannot be resumed: the root of its session is closed`,
      {
        hint: `Resume the root first: cadre resume ${root} (with --recursive what was open below it comes back, too).`,
        cause: error,
      },
    );
  }
}

/** With what was to come back below an agent that did not. */
function refused(id: AgentId, output: string): BroughtBack {
  const error = refusalIn(output);
  if (error === undefined) throw new CadreError('agent_not_resumable', `agent ${id}: ${output}`);
  const { not_resumed: below = [], ...own } = error as ErrorBody & Partial<BroughtBack>;
  return { resumed: [], not_resumed: [{ agent_id: id, error: own }, ...below] };
}

function asError({ code, message, hint, retryable }: ErrorBody): CadreError {
  return new CadreError(code, message, {
    ...(hint === undefined ? {} : { hint }),
    ...(retryable === undefined ? {} : { retryable }),
  });
}
