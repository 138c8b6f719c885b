import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isBelow } from '../../protocol/ids.ts';
import {
  type AgentId,
  type AgentView,
  agentSettingsSchema,
  type Mail,
  type SlotAnswer,
  type SlotRequest,
} from '../../protocol/index.ts';
import { AgentState } from '../../workflows/agent-state.ts';
import { answerSlotRequest, recordReport } from '../../workflows/ledger.ts';
import { agentId, reportOf, SESSION, viewOf } from './agent-views.ts';

/** What happens to one agent; each is done only where it may. */
const acts = [
  'spawn',
  'end turn',
  'input',
  'block',
  'unblock',
  'close',
  'crash',
  'sweep',
  'late report',
  'continue as new',
] as const;
type Act = (typeof acts)[number];
type Stand = 'unborn' | 'idle' | 'waiting' | 'working' | 'blocked' | 'gone';
const agents = ['boss', 'boss/a', 'boss/b', 'boss/a/c', 'other', 'other/d'].map(agentId);
const orders = fc.array(fc.record({ act: fc.constantFrom(...acts), agent: fc.constantFrom(...agents) }), {
  maxLength: 120,
  size: 'max',
});
type SlotLimits = { max_threads: number; count: 'running' | 'open'; when_full: 'error' | 'queue' };
type Asking = Extract<SlotRequest, { request_id: string }>;

/** The root's ledger and, as its mail shows them, the agents that ask and tell it what happens to them. */
class Session {
  root: AgentState;
  readonly #limits: SlotLimits;
  readonly #stands = new Map<AgentId, Stand>(agents.map((agent) => [agent, 'unborn']));
  readonly #seqs = new Map<AgentId, number>();
  /** Requests that are neither granted nor refused, and who is to work then. */
  readonly #open = new Map<string, AgentId>();
  #requests = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
    this.root = this.#begin();
  }

  all(...stands: Stand[]): AgentId[] {
    return agents.filter((agent) => stands.includes(this.#stands.get(agent) ?? 'unborn'));
  }

  get slots() {
    return this.root.tree?.slots as NonNullable<AgentState['tree']>['slots'];
  }

  play(act: Act, agent: AgentId): void {
    const stand = this.#stands.get(agent);
    switch (act) {
      case 'spawn': {
        if (stand !== 'unborn') return;
        const first = viewOf(agent, { status: 'pending_init', turn: 0, ...this.#parent(agent) });
        const queue = this.#limits.when_full === 'queue';
        this.#stands.set(agent, 'waiting');
        this.#ask({ kind: 'reserve', ...this.#request(agent), from: SENDER, queue, spawn: first });
        if (this.#stands.get(agent) === 'waiting') this.#reclaim(agent);
        return;
      }
      case 'end turn':
        if (stand !== 'working' && stand !== 'blocked') return;
        this.#stands.set(agent, 'idle');
        this.#report(agent, { status: 'completed', message: 'done' }, true);
        return;
      case 'input':
        if (stand === 'idle') this.#reclaim(agent);
        return;
      case 'block':
        if (stand !== 'working') return;
        this.#stands.set(agent, 'blocked');
        this.#report(agent, { status: 'running', waiting_for: 'agents' });
        this.#tell({ kind: 'lend', agent_id: agent });
        return;
      case 'unblock':
        if (stand === 'blocked') this.#reclaim(agent, 'running');
        return;
      case 'close':
        if (stand === 'unborn' || stand === 'gone') return;
        this.#leave(agent);
        this.#report(agent, { status: 'shutdown', closed: true });
        return;
      case 'crash':
        // Its parent hears of it, or somebody has looked: more than one may.
        if (stand === 'unborn') return;
        this.#leave(agent);
        this.#tell({ kind: 'release', agent_id: agent, closed: true, life: 0 });
        this.#tell({ kind: 'release', agent_id: agent, closed: true, life: 0 });
        return;
      case 'sweep':
        // Who was lost leaves others behind, which are ended, too.
        if (stand !== 'gone') return;
        for (const below of agents.filter((id) => isBelow(id, agent))) {
          if (this.#stands.get(below) !== 'unborn') this.#leave(below);
        }
        this.#tell({ kind: 'release_below', agent_id: agent, life: 0 });
        return;
      case 'late report':
        // Sent by one before it was lost.
        if (stand === 'gone') this.#report(agent, { status: 'completed', message: 'late' }, true);
        return;
      case 'continue as new':
        this.root = this.#begin(JSON.parse(JSON.stringify(this.root.carry)));
        return;
    }
  }

  /** As the root does where nobody can free a slot. */
  refuse(): void {
    for (const { requestId } of this.slots.refuseQueue()) {
      const error = this.slots.full;
      this.#take({ request_id: requestId, outcome: 'refused', error });
    }
  }

  check(): void {
    const working = this.all('working');
    expect(working.length).toBeLessThanOrEqual(this.#limits.max_threads);
    expect(working.filter((agent) => !this.slots.holders.includes(agent))).toEqual([]);
    const gone = this.all('gone', 'unborn');
    expect(this.slots.holders.filter((agent) => gone.includes(agent))).toEqual([]);
    // Whoever waits does so for a reason, and the session counts as busy for it.
    if (this.#open.size > 0) {
      expect(this.slots.used).toBe(this.#limits.max_threads);
      expect(this.root.tree?.busy).toBe(true);
    }
    expect(this.all('waiting').sort()).toEqual([...new Set(this.#open.values())].sort());
  }

  #begin(carry?: ConstructorParameters<typeof AgentState>[1]): AgentState {
    const settings = agentSettingsSchema.parse({
      role: 'default',
      model: 'scripted',
      provider: 'script',
      working_directory: '/tmp',
      limits: this.#limits,
    });
    const source = { kind: 'api' as const };
    const identity = { agent_id: SESSION, session_id: SESSION, depth: 0, source, task: 'x' };
    const root = new AgentState({ identity: { ...identity, search_attributes: [] }, settings }, carry);
    root.outbox.post = (_to: AgentId, mail: Mail) => {
      if (mail.type === 'slot_answer') this.#take(mail.answer);
    };
    // All holders that are left run: nobody has to look.
    if (root.tree !== undefined) root.tree.lookedAt = Number.POSITIVE_INFINITY;
    return root;
  }

  #parent(agent: AgentId): Partial<AgentView> {
    const parent = agents.findLast((other) => isBelow(agent, other));
    return { parent_id: parent ?? SENDER };
  }

  #request(agent: AgentId): { request_id: string; agent_id: AgentId } {
    return { request_id: `r${++this.#requests}`, agent_id: agent };
  }

  #reclaim(agent: AgentId, status: AgentView['status'] = 'pending_init'): void {
    this.#stands.set(agent, 'waiting');
    this.#ask({ kind: 'reclaim', ...this.#request(agent), from: agent });
    if (this.#stands.get(agent) === 'waiting') {
      this.#report(agent, { status, queued: true, waiting_for: 'slot' });
    }
  }

  #ask(request: Asking): void {
    this.#open.set(request.request_id, request.agent_id);
    this.#tell(request);
  }

  #take(answer: SlotAnswer): void {
    const agent = this.#open.get(answer.request_id);
    if (agent === undefined || answer.outcome === 'queued') return;
    this.#open.delete(answer.request_id);
    const isBorn = this.root.tree?.report(agent) !== undefined;
    if (answer.outcome === 'granted') this.#stands.set(agent, 'working');
    else this.#stands.set(agent, isBorn ? 'idle' : 'unborn');
    if (answer.outcome === 'refused' && isBorn) this.#report(agent, { status: 'errored' }, true);
  }

  #tell(request: SlotRequest): void {
    answerSlotRequest(this.root, request);
  }

  #leave(agent: AgentId): void {
    this.#stands.set(agent, 'gone');
    for (const [request, asking] of this.#open) if (asking === agent) this.#open.delete(request);
  }

  #report(agent: AgentId, change: Partial<AgentView>, ends = false): void {
    const seq = (this.#seqs.get(agent) ?? 0) + 1;
    this.#seqs.set(agent, seq);
    const ended = { turn: seq, status: 'completed' as const, duration_ms: 5 };
    const report = { ...change, turn: seq, ...this.#parent(agent), ...(ends ? { ended } : {}) };
    recordReport(this.root, reportOf(agent, seq, report));
  }
}

/** Of an agent that none of these is. */
const SENDER = agentId('sender');

test('for any order of spawn, finish, block, close and crash no slot is lost, no more work than may, and whoever waits is answered', () => {
  fc.assert(
    fc.property(
      orders,
      fc.integer({ min: 1, max: 3 }),
      fc.constantFrom('running' as const, 'open' as const),
      fc.constantFrom('error' as const, 'queue' as const),
      (orders, max_threads, count, when_full) => {
        const session = new Session({ max_threads, count, when_full });
        for (const { act, agent } of orders) {
          session.play(act, agent);
          session.check();
        }
        for (let left = session.all('blocked', 'working'); left.length > 0; ) {
          for (const agent of session.all('blocked')) session.play('unblock', agent);
          for (const agent of session.all('working')) session.play('end turn', agent);
          session.check();
          left = session.all('blocked', 'working');
        }
        expect(session.slots.standsStill).toBe(session.all('waiting').length > 0);
        session.refuse();
        session.check();
        expect(session.all('waiting')).toEqual([]);
        expect(session.root.tree?.busy).toBe(false);
        for (const [index, agent] of agents.entries()) {
          session.play(index % 2 === 0 ? 'close' : 'crash', agent);
        }
        expect(session.slots.holders).toEqual([]);
        expect([session.slots.used, session.slots.busy]).toEqual([0, false]);
      },
    ),
    { numRuns: 100, endOnFailure: true },
  );
});
