import {
  type AgentEvent,
  type AgentId,
  CadreError,
  depthOf,
  type EventsPage,
  findLastLife,
  type Item,
  type ItemsPage,
  type ItemsQuery,
  isBelow,
  isUnreplayable,
  LARGE_PAGE_BYTES,
  parentOf,
  QUERIES,
  type RolloutAgent,
  type RolloutBody,
  type RolloutState,
  rolloutStateSchema,
  type SessionId,
  type SnapshotPage,
  type TreeView,
} from '../protocol/index.ts';
import type { AgentRuns } from './agent-runs.ts';
import { handlesIn, outputLines } from './handle-files.ts';
import { imageHandles, imagesOf } from './images.ts';
import type { Rollout } from './rollout.ts';

export interface CollectOptions {
  session: SessionId;
  runs: AgentRuns;
  /** CADRE_HOME: where the outputs lie that were too long for a conversation. */
  stateDir: string;
  /** An earlier rollout of the session: it may hold what Temporal keeps no longer. */
  earlier: Rollout | undefined;
  /** Of this agent and all below it alone. */
  only?: AgentId;
}

/** So many agents are asked before it is their turn: each of them has to be replayed to answer. */
const AHEAD = 4;
const GONE = 'Temporal keeps it no longer, and no earlier rollout holds it';
const UNREPLAYABLE =
  'the worker that was asked is of another version and cannot replay it, and no earlier rollout holds it';

interface Found {
  runId: string;
  newest: string;
  snapshot: SnapshotPage;
}

/** Nobody tells what an agent was. */
interface Untold {
  reason: string;
  /** What an earlier rollout has of it is the newest that there is. */
  orEarlier: boolean;
}

/**
 * All that a session is, agent by agent: from Temporal, and where that keeps an agent no longer, or no worker can replay
 * it, from an earlier rollout. Asked page by page, so that no more than a few pages are held at a time.
 *
 * @throws CadreError `agent_not_found` where neither has its root; `no_worker` where its root cannot be replayed
 */
export async function* collect(options: CollectOptions): AsyncGenerator<RolloutBody> {
  const { session, runs, earlier, stateDir, only } = options;
  const root = await find(runs, session, earlier);
  if (!('snapshot' in root) && earlier?.agent(session) === undefined) {
    throw new CadreError('agent_not_found', `There is no session ${session}, and no rollout of it.`);
  }
  const all = await agentsOf(runs, session, root, earlier);
  const agents = only === undefined ? all : all.filter((id) => id === only || isBelow(id, only));
  const handles = new Set<string>();
  const note = (line: RolloutBody): RolloutBody => {
    if (line.type === 'item' || line.type === 'replaced')
      for (const handle of [...handlesIn(JSON.stringify(line.item)), ...imageHandles(line.item)])
        handles.add(handle);
    return line;
  };
  const missing: RolloutBody[] = [];
  for await (const [id, found] of ahead(agents, (id) =>
    id === session ? Promise.resolve(root) : find(runs, id, earlier),
  )) {
    if ('snapshot' in found) for await (const line of agentLines(runs, id, found, earlier)) yield note(line);
    else if (found.orEarlier && earlier?.agent(id) !== undefined)
      for await (const line of earlier.linesOf(id)) yield note(line);
    else missing.push({ type: 'missing', agent_id: id, reason: found.reason });
  }
  yield* missing;
  for await (const line of outputLines(stateDir, handles)) {
    const kept = line.left_out === undefined ? undefined : await earlier?.output(line.handle);
    yield kept ?? line;
  }
}

/** What an agent was, from the newest run of it that knows. */
async function find(runs: AgentRuns, id: AgentId, earlier: Rollout | undefined): Promise<Found | Untold> {
  const gone = { reason: GONE, orEarlier: true };
  const newest = await runs.newest(id);
  if (newest === undefined) return gone;
  try {
    const { runId, snapshot } = await findLastLife(newest.runId, async (run) => {
      const page = await runs.ask<SnapshotPage>(id, run, QUERIES.snapshot, {});
      if (page === undefined) throw new Gone();
      return page;
    });
    return { runId, newest: newest.runId, snapshot };
  } catch (error) {
    // Nothing is left of it, or it has never come to be what it was meant to be.
    const nothing = error instanceof CadreError && error.code === 'agent_not_resumable';
    if (error instanceof Gone || nothing) return gone;
    if (!isUnreplayable(error)) throw error;
    const orEarlier = earlier?.agent(id)?.run_id === newest.runId;
    // Without its root a session is none; one that is merely not read now comes with the right worker.
    if (!orEarlier && parentOf(id) === undefined) throw error;
    return { reason: UNREPLAYABLE, orEarlier };
  }
}

class Gone extends Error {}

/** The root first, parents before their children. */
async function agentsOf(
  runs: AgentRuns,
  session: SessionId,
  root: Found | Untold,
  earlier: Rollout | undefined,
): Promise<AgentId[]> {
  const tree =
    'snapshot' in root ? await runs.ask<TreeView>(session, root.runId, QUERIES.tree, null) : undefined;
  const ids = [session, ...(tree?.agents ?? []).map((view) => view.agent_id), ...(earlier?.agents ?? [])];
  return [...new Set(ids)].sort((a, b) => depthOf(a) - depthOf(b));
}

/** Asks for some before it is their turn. */
async function* ahead<K, V>(keys: readonly K[], ask: (key: K) => Promise<V>): AsyncGenerator<[K, V]> {
  const asked: Promise<V>[] = [];
  for (const [index, key] of keys.entries()) {
    for (let next = asked.length; next < Math.min(index + AHEAD, keys.length); next++) {
      const answer = ask(keys[next] as K);
      answer.catch(() => {});
      asked.push(answer);
    }
    yield [key, await (asked[index] as Promise<V>)];
    delete asked[index];
  }
}

async function* agentLines(
  runs: AgentRuns,
  id: AgentId,
  { runId, newest, snapshot }: Found,
  earlier: Rollout | undefined,
): AsyncGenerator<RolloutBody> {
  const { page, unrestored: _, state: left, ...agent } = snapshot;
  const state = checkedState(id, left);
  yield { type: 'agent', run_id: runId, ...agent, items: page.total, state } as RolloutAgent;
  const directory = agent.settings.working_directory;
  for await (const [index, item] of itemsOf(runs, id, runId, page)) {
    yield { type: 'item', agent_id: id, index, item, ...(await imagesOf(item, directory)) };
  }
  for (const { run_id } of page.replaced_in ?? []) {
    for await (const item of replacedIn(runs, id, run_id, earlier)) {
      yield { type: 'replaced', agent_id: id, run_id, item };
    }
  }
  for await (const event of eventsOf(runs, id, { runId, newest, state, earlier }))
    yield { type: 'event', event };
}

/** @throws CadreError `internal` where this reader does not know what an agent says of itself */
function checkedState(id: AgentId, state: unknown): RolloutState {
  const parsed = rolloutStateSchema.safeParse(state);
  if (parsed.success) return state as RolloutState;
  throw new CadreError('internal', `agent ${id} has a state of another version: ${parsed.error.message}`);
}

async function* itemsOf(
  runs: AgentRuns,
  id: AgentId,
  runId: string,
  first: ItemsPage,
): AsyncGenerator<[number, Item]> {
  let index = 0;
  for (let page: ItemsPage = first; ; ) {
    for (const item of page.items) yield [index++, item];
    if (index >= first.total) return;
    const range = { from: index, to: first.total, bytes: LARGE_PAGE_BYTES };
    page = required(id, await runs.ask<ItemsPage>(id, runId, QUERIES.items, range));
    if (page.items.length === 0) required(id, undefined);
  }
}

/** From the run that has replaced them, while Temporal keeps it. */
async function* replacedIn(
  runs: AgentRuns,
  id: AgentId,
  runId: string,
  earlier: Rollout | undefined,
): AsyncGenerator<Item> {
  for (let from: number | undefined = 0; from !== undefined; ) {
    const range: ItemsQuery = { from, replaced: true, bytes: LARGE_PAGE_BYTES };
    const page: ItemsPage | undefined = await orGone(runs.ask<ItemsPage>(id, runId, QUERIES.items, range));
    if (page === undefined) {
      if (earlier !== undefined) yield* earlier.replaced(id, runId);
      return;
    }
    yield* page.items;
    from = page.next;
  }
}

/** The events up to those that its state counts: of earlier runs, and of an earlier rollout, what this run has not. */
async function* eventsOf(
  runs: AgentRuns,
  id: AgentId,
  {
    runId,
    newest,
    state,
    earlier,
  }: { runId: string; newest: string; state: RolloutState; earlier: Rollout | undefined },
): AsyncGenerator<AgentEvent> {
  const { held, last } = state.events;
  if (last === 0) return;
  let after = 0;
  if (held[0]?.seq !== 1) {
    // The carry of a run holds only its newest events, the run itself more of them.
    const page = await runs.ask<EventsPage>(id, runId, QUERIES.events, { after });
    const older = (page?.dropped ?? 0) > 0 || page === undefined;
    if (older && earlier !== undefined) {
      for await (const event of earlier.events(id)) {
        if (event.seq > last || event.seq !== after + 1) break;
        after = event.seq;
        yield event;
      }
    }
    const all = older ? await runs.upTo(id, newest) : [runId];
    for (const run of all.slice(0, all.indexOf(runId) + 1)) {
      for await (const event of eventsOfRun(runs, id, run, after)) {
        if (event.seq > last) break;
        after = event.seq;
        yield event;
      }
    }
  }
  for (const event of held) if (event.seq > after && event.seq <= last) yield event;
}

async function* eventsOfRun(
  runs: AgentRuns,
  id: AgentId,
  run: string,
  from: number,
): AsyncGenerator<AgentEvent> {
  for (let after = from; ; ) {
    const page = await orGone(runs.ask<EventsPage>(id, run, QUERIES.events, { after }));
    if (page === undefined || page.events.length === 0) return;
    yield* page.events;
    after = page.next;
  }
}

/** An earlier run of an agent that goes on may be of a version that nobody replays any more. */
async function orGone<T>(asked: Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isUnreplayable(error)) return undefined;
    throw error;
  }
}

function required<T>(id: AgentId, answer: T | undefined): T {
  if (answer !== undefined) return answer;
  throw new CadreError('internal', `agent ${id} was deleted while it was being read.`, { retryable: true });
}
