import type { AgentId, Approval, DecideApproval } from '../protocol/index.ts';

export interface ApprovalsCarry {
  pending: Approval[];
  allowed: string[];
}

/** The questions of a session that wait for a person, kept by the root so that they are found in one place. */
export class Approvals {
  readonly #pending: Map<string, Approval>;
  /** What a person has allowed for the rest of the session. */
  readonly #allowed: Set<string>;

  constructor(carry: ApprovalsCarry = { pending: [], allowed: [] }) {
    this.#pending = new Map(carry.pending.map((approval) => [approval.approval_id, approval]));
    this.#allowed = new Set(carry.allowed);
  }

  /** Returns whether a person has to be asked: not again for what was allowed for the session. */
  add(approval: Approval): boolean {
    if (this.#allowed.has(questionOf(approval))) return false;
    this.#pending.set(approval.approval_id, approval);
    return true;
  }

  has(approvalId: string): boolean {
    return this.#pending.has(approvalId);
  }

  /**
   * Takes a decision in.
   *
   * @returns the questions that it answers, the decided one first: with `approve_for_session` all that ask the same
   */
  decide({ approval_id: id, decision }: DecideApproval): Approval[] {
    const decided = this.#pending.get(id);
    if (decided === undefined) return [];
    const answered = [decided];
    if (decision === 'approve_for_session') {
      const question = questionOf(decided);
      this.#allowed.add(question);
      answered.push(...this.pending.filter((other) => other !== decided && questionOf(other) === question));
    }
    for (const approval of answered) this.#pending.delete(approval.approval_id);
    return answered;
  }

  withdraw(approvalId: string): void {
    this.#pending.delete(approvalId);
  }

  /** Drops the questions of an agent that can take no answer any more. */
  forget(agent: AgentId): void {
    for (const approval of this.pending)
      if (approval.asking_id === agent) this.withdraw(approval.approval_id);
  }

  /** In the order in which they were asked. */
  get pending(): Approval[] {
    return [...this.#pending.values()];
  }

  get carry(): ApprovalsCarry {
    return { pending: this.pending, allowed: [...this.#allowed] };
  }
}

function questionOf({ kind, key }: Approval): string {
  return `${kind} ${key}`;
}
