import type { AgentId, Approval, PlannedCall, ToolOutput } from '../protocol/index.ts';

/** A call that only waits: all that another run of the workflow needs to go on waiting. */
export interface Parked {
  /** When the call began. */
  since: number;
  /** For other agents, until then at the latest. */
  wait?: {
    ids: AgentId[];
    unknown: string[];
    until: number;
    /** The answer of one of them, by the id of the mail that it comes as. */
    mail?: string;
    /** The id under which the root sends how those stand that are not this agent's children. */
    watch?: string;
  };
  /** For a person. */
  approval?: Approval;
}

export interface StepCarry {
  plans: PlannedCall[];
  outputs: ToolOutput[];
  parked: [string, Parked][];
  slot_lent: boolean;
}

/** Thrown out of a call that goes on waiting in a new run of the workflow. */
export class MovesOn extends Error {
  override readonly name = 'MovesOn';
}

/**
 * The tool calls of one model answer, from the answer on until each has its output. While all that are under way only
 * wait, the agent may go on in a new run, which takes this along.
 */
export class StepUnderWay {
  readonly plans: readonly PlannedCall[];
  readonly #outputs: Map<string, ToolOutput>;
  readonly #parked: Map<string, Parked>;
  /** When each call that is under way began. */
  readonly #underWay = new Map<string, number>();
  readonly #waiting = new Set<string>();
  /** Whether others have the agent's slot, since calls of this step wait. */
  slotLent: boolean;

  constructor(plans: readonly PlannedCall[], carry?: StepCarry) {
    this.plans = plans;
    this.#outputs = new Map(carry?.outputs.map((output) => [output.call_id, output]));
    this.#parked = new Map(carry?.parked);
    this.slotLent = carry?.slot_lent ?? false;
  }

  static from(carry: StepCarry): StepUnderWay {
    return new StepUnderWay(carry.plans, carry);
  }

  /** Whether a call of this step is under way: a client's is none. */
  has(callId: string): boolean {
    return this.#underWay.has(callId);
  }

  begin(callId: string, now: number): void {
    this.#underWay.set(callId, this.#parked.get(callId)?.since ?? now);
  }

  /** When a call that is under way began, in whatever run; undefined for a client's. */
  since(callId: string): number | undefined {
    return this.#underWay.get(callId);
  }

  /** @param output undefined when the call goes on in a new run */
  end(callId: string, output: ToolOutput | undefined): void {
    this.#underWay.delete(callId);
    if (output === undefined) return;
    this.#parked.delete(callId);
    this.#outputs.set(callId, output);
  }

  outputOf(callId: string): ToolOutput | undefined {
    return this.#outputs.get(callId);
  }

  /** In the order of the calls. */
  get outputs(): ToolOutput[] {
    return this.plans.flatMap(({ call_id: id }) => this.#outputs.get(id) ?? []);
  }

  /** What a call of an earlier run waited for. */
  parked(callId: string): Parked | undefined {
    return this.#parked.get(callId);
  }

  /** From here on a call only waits. */
  park(callId: string, what: Omit<Parked, 'since'>): void {
    const since = this.#underWay.get(callId);
    if (since === undefined) return;
    this.#parked.set(callId, { since, ...what });
    this.#waiting.add(callId);
  }

  unpark(callId: string): void {
    this.#waiting.delete(callId);
  }

  /** Whether a call waits. */
  get waits(): boolean {
    return this.#waiting.size > 0;
  }

  /** Whether every call under way does nothing but wait. */
  get onlyWaits(): boolean {
    return this.#underWay.size === this.#waiting.size;
  }

  /** About as many as it takes in the input of a new run. */
  get bytes(): number {
    return this.outputs.reduce((sum, output) => sum + output.output.length, 0);
  }

  get carry(): StepCarry {
    return {
      plans: [...this.plans],
      outputs: this.outputs,
      parked: [...this.#parked],
      slot_lent: this.slotLent,
    };
  }
}
