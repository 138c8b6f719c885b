import { isBelow } from '../protocol/ids.ts';
import type { AgentId, Lookup, LookupAnswer, Report, SlotAnswer, SlotRequest } from '../protocol/index.ts';
import type { AgentState } from './agent-state.ts';
import { emitStatus } from './announce.ts';
import { reportForLookup, reportForWatchers } from './report-size.ts';
import type { Claim } from './slots.ts';
import { OUTSIDE } from './standing.ts';

/** The root's side of slots and look-ups: what its descendants ask it, and what it answers. */

export function answerSlotRequest(root: AgentState, request: SlotRequest): void {
  const { tree } = root;
  if (tree === undefined) return;
  const { slots } = tree;
  /** Whether it has been brought back since that life of its ended. */
  const isBack = (id: AgentId, ended: number): boolean => tree.life(id) > ended;
  switch (request.kind) {
    case 'reserve': {
      const claim = claimOf(request);
      const { spawn } = request;
      const isIdle = spawn?.idle === true;
      const outcome =
        spawn === undefined
          ? slots.reserve(claim, request.queue)
          : slots.reserveSpawn(claim, request.queue, isIdle);
      if (outcome.outcome === 'refused' && outcome.error.code === 'limit_threads' && isWorthALook(root)) {
        root.orders.push({ type: 'no_slot', request });
        return;
      }
      if (outcome.outcome === 'queued' && isWorthALook(root)) root.orders.push({ type: 'no_slot' });
      if (spawn !== undefined && outcome.outcome !== 'refused') {
        // One that has its slot is in its first turn, of which it tells nobody before its end.
        tree.expect(outcome.outcome === 'granted' && !isIdle ? { ...spawn, turn: 1 } : spawn);
      }
      if (outcome.outcome === 'granted' && !isIdle) tree.granted(request.agent_id, Date.now());
      // It runs from the start on, and says so to nobody.
      if (isToldAsRunning(root, request.agent_id)) emitStatus(root, request.agent_id, 'running');
      answerSlot(root, request.from, { request_id: request.request_id, ...outcome });
      return;
    }
    case 'cancel_spawn':
      // Who closes while it asks does not know the answer: where it was refused, nothing was counted.
      if (!tree.isUnborn(request.agent_id)) return;
      if (isToldAsRunning(root, request.agent_id)) emitStatus(root, request.agent_id, 'not_found');
      tree.forget(request.agent_id);
      grant(root, slots.cancelSpawn(request.agent_id));
      return;
    case 'lend':
      tree.budget.pause(request.agent_id);
      grant(root, slots.lend(request.agent_id));
      return;
    case 'reclaim': {
      const outcome = slots.reclaim(claimOf(request));
      if (outcome.outcome === 'queued' && isWorthALook(root)) root.orders.push({ type: 'no_slot' });
      // Its turn begins before it can say so.
      if (outcome.outcome === 'granted') tree.granted(request.agent_id, Date.now());
      answerSlot(root, request.from, { request_id: request.request_id, ...outcome });
      return;
    }
    case 'release':
      if (!request.closed) grant(root, slots.turnEnded(request.agent_id));
      else if (request.life === undefined) {
        if (tree.openIds.includes(request.agent_id)) {
          root.orders.push({ type: 'suspicion', id: request.agent_id });
        } else grant(root, slots.closed(request.agent_id));
      } else if (!isBack(request.agent_id, request.life)) bury(root, request.agent_id);
      return;
    case 'release_below':
      if (isBack(request.agent_id, request.life)) return;
      for (const id of tree.ids.filter((id) => isBelow(id, request.agent_id))) bury(root, id);
      return;
  }
}

/** An agent that is about to start, and need not wait for a slot. Of its own children the root tells when they have. */
function isToldAsRunning({ id: root, tree }: AgentState, id: AgentId): boolean {
  const report = tree?.report(id);
  return report?.seq === 0 && report.view.status === 'running' && report.view.parent_id !== root;
}

/** So long nobody looks again whether those that hold slots still run. */
const LOOKED_MS = 10_000;

/** Whether a slot may be held by one that is gone, which nobody has noticed. */
function isWorthALook({ tree }: AgentState): boolean {
  if (tree === undefined || !tree.slots.heldByIdle) return false;
  return tree.looking !== undefined || Date.now() - tree.lookedAt > LOOKED_MS;
}

/** Takes an agent for closed that can say nothing any more, and tells all who want to know. */
function bury(root: AgentState, id: AgentId): void {
  const { tree } = root;
  if (tree === undefined) return;
  // A session that ends in good order keeps what its agents ended with, also of one that has to be terminated.
  if (tree.lost(id, OUTSIDE, Date.now(), root.closing?.keepStatus)) {
    tellWatchers(root, id);
    tree.watches.forget(id);
    tree.approvals.forget(id);
    const parent = tree.report(id)?.view.parent_id;
    if (parent === root.id) {
      // Unless it was the root that has noticed it.
      if (root.children.get(id)?.closed === false) {
        root.orders.push({ type: 'death', id, life: tree.life(id), reason: OUTSIDE });
      }
    } else {
      root.children.lost(id, 'errored', OUTSIDE);
      emitStatus(root, id, 'errored', OUTSIDE);
      tellParent(root, id, parent);
    }
  }
  grant(root, tree.slots.closed(id));
}

/** Whoever notices it need not be the parent: an agent may have been resumed by one further up. */
function tellParent({ tree, outbox }: AgentState, id: AgentId, parent: AgentId | undefined): void {
  const report = tree?.report(id);
  if (parent === undefined || report === undefined || tree?.report(parent)?.view.closed === true) return;
  const ended = { turn: report.view.turn, status: 'errored', duration_ms: 0 } as const;
  outbox.post(parent, { type: 'report', report: { ...report, ended } });
}

/**
 * Takes a report into the root's picture of the session, frees the slot of a turn that ended, and passes it on.
 *
 * @returns what has changed by it; undefined where it is no news
 */
export function recordReport(root: AgentState, report: Report): { statusChanged: boolean } | undefined {
  const { tree } = root;
  const change = tree?.apply(report);
  if (tree === undefined || change === undefined) return undefined;
  const { view, ended } = report;
  const { agent_id: id, closed, usage } = view;
  tree.budget.report(id, usage.total_tokens, view.is_final || ended !== undefined);
  if (closed) {
    grant(root, tree.slots.closed(id));
    tree.watches.forget(id);
    tree.approvals.forget(id);
  } else if (ended !== undefined) {
    // Not for anything else that it says: it may have been given a slot for its next turn meanwhile.
    grant(root, tree.slots.turnEnded(id));
  }
  const wakes = ended !== undefined && ended.along !== true && root.settings.limits.wake_parent;
  if (wakes && view.parent_id !== undefined) {
    // The root may not settle in between, though it hears of this end first.
    tree.wakes(view.parent_id, view.updated_at);
  }
  tellWatchers(root, id);
  return change;
}

/** Those who wait for an agent that is not theirs hear from the root how it stands. */
function tellWatchers({ tree, outbox, id: rootId }: AgentState, id: AgentId): void {
  const report = tree?.report(id);
  if (tree === undefined || report === undefined) return;
  const watchers = tree.watches.of(id).filter((watcher) => watcher !== rootId);
  for (const watcher of watchers) {
    outbox.post(watcher, { type: 'report', report: reportForWatchers(report, watchers.length) });
  }
}

export function answerLookup(root: AgentState, lookup: Lookup): LookupAnswer {
  const watched: AgentId[] = [];
  const found = lookup.references.map((reference): Found => {
    const candidates = root.tree?.candidates(reference) ?? [];
    const id = candidates.length === 1 ? candidates[0] : undefined;
    if (id === undefined) return { reference, candidates };
    watched.push(id);
    const report = id === root.id ? root.ownReport : root.tree?.report(id);
    if (report === undefined) return { reference, candidates };
    return { reference, candidates, report: reportForLookup(report, lookup.references.length) };
  });
  if (lookup.watch) root.tree?.watches.begin(lookup.request_id, lookup.from, watched);
  return { request_id: lookup.request_id, found };
}

type Found = LookupAnswer['found'][number];

/** A claim that is queued is granted to the agent that will work, whoever asked for it. */
function claimOf(request: Extract<SlotRequest, { request_id: string }>): Claim {
  return { agent: request.agent_id, requestId: request.request_id };
}

function grant(root: AgentState, claims: Claim[]): void {
  for (const claim of claims) {
    root.tree?.granted(claim.agent, Date.now());
    answerSlot(root, claim.agent, { request_id: claim.requestId, outcome: 'granted' });
  }
}

export function answerSlot(root: AgentState, to: AgentId, message: SlotAnswer): void {
  if (to === root.id) root.slotAnswers.answer(message);
  else root.outbox.post(to, { type: 'slot_answer', answer: message });
}
