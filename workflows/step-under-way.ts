import { condition } from '@temporalio/workflow';
import type { AgentId, Approval, PlannedCall, ToolOutput } from '../protocol/index.ts';

/** A call that only waits: all that another run of the workflow needs to go on waiting. */
export interface Parked {
  /** When the call began. */
  since: number;
  /** For other agents, until then at the latest. */
  wait?: { ids: AgentId[]; unknown: string[]; until: number };
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
  readonly #underWay = new Set<string>();
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

  begin(callId: string): void {
    this.#underWay.add(callId);
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

  /**
   * Waits inside a call until something is so, or the time is up.
   *
   * @param parked what the wait needs in a new run
   * @param goesOn whether the agent should go on in a new run, which it does not while a call does more than wait
   * @returns false when the time was up first
   * @throws MovesOn when the agent goes on in a new run before that
   */
  async park(
    callId: string,
    parked: Parked,
    over: () => boolean,
    goesOn: () => boolean,
    timeout?: { ms: number; summary: string },
  ): Promise<boolean> {
    this.#parked.set(callId, parked);
    this.#waiting.add(callId);
    const isDue = (): boolean => over() || goesOn();
    try {
      if (timeout === undefined) await condition(isDue);
      else if (!(await condition(isDue, timeout.ms, { summary: timeout.summary }))) return false;
    } finally {
      this.#waiting.delete(callId);
    }
    if (!over()) throw new MovesOn();
    return true;
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
