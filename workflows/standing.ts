import type { ErrorCode, PlanStep, Status, Usage, WaitingFor } from '../protocol/index.ts';
import { isFinal } from '../protocol/status.ts';
import { addUsage, noUsage, subtractUsage } from '../protocol/usage.ts';
import type { TurnOutcome } from './turn-outcome.ts';

export interface StandingCarry {
  status: Status;
  message?: string;
  code?: ErrorCode;
  since: number;
  updated: number;
  closed: boolean;
  turn: number;
  step: number;
  turn_started: number;
  usage: Usage;
  /** The same when the turn began. */
  usage_before?: Usage;
  /** Tokens of the newest model call. */
  last_call?: number;
  /** The conversation has been compacted since the root was last asked for tokens. */
  shrunk?: boolean;
  note?: string;
  plan: PlanStep[];
  approval_missing: boolean;
  /** What the turn has come to that goes on only until those below have settled. */
  settling?: TurnOutcome;
  /** How it stood before it was closed. */
  before_close?: Pick<StandingCarry, 'status' | 'message' | 'code'>;
}

/** Why an agent counts as lost, unless more is known. */
export const OUTSIDE = 'ended from outside';
/** Why a turn was interrupted whose agent was ended like that, once it is back. */
export const CUT_OFF = `the agent was ${OUTSIDE}`;
/** Why an agent counts as interrupted that was ended while its first turn waited to begin. */
export const NEVER_BEGUN = 'the agent was closed before its first turn';

/** How an agent stands: its status and what is shown beside it. */
export class Standing {
  #state: StandingCarry;
  /** What the running turn waits for, and with which tool; not carried: what goes on waiting in a new run says it anew. */
  waitingFor: WaitingFor | undefined;
  currentTool: string | undefined;
  queued = false;

  constructor(now: number, carry?: StandingCarry) {
    this.#state = carry ?? {
      status: 'pending_init',
      since: now,
      updated: now,
      closed: false,
      turn: 0,
      step: 0,
      turn_started: now,
      usage: noUsage,
      plan: [],
      approval_missing: false,
    };
  }

  get status(): Status {
    return this.#state.status;
  }
  get message(): string | undefined {
    return this.#state.message;
  }
  get code(): ErrorCode | undefined {
    return this.#state.code;
  }
  get isFinal(): boolean {
    return isFinal(this.#state.status);
  }
  get closed(): boolean {
    return this.#state.closed;
  }
  get turn(): number {
    return this.#state.turn;
  }
  get step(): number {
    return this.#state.step;
  }
  get turnStarted(): number {
    return this.#state.turn_started;
  }
  get usage(): Usage {
    return this.#state.usage;
  }
  /** Of the running turn, or the last one; undefined where it began in a version that did not count. */
  get turnUsage(): Usage | undefined {
    const { usage, usage_before: before } = this.#state;
    return before === undefined ? undefined : subtractUsage(usage, before);
  }
  /** Tokens of the newest model call; 0 before the first. */
  get lastCall(): number {
    return this.#state.last_call ?? 0;
  }
  get plan(): readonly PlanStep[] {
    return this.#state.plan;
  }
  get note(): string | undefined {
    return this.#state.note;
  }
  get since(): number {
    return this.#state.since;
  }
  get updated(): number {
    return this.#state.updated;
  }
  get settling(): TurnOutcome | undefined {
    return this.#state.settling;
  }
  get approvalMissing(): boolean {
    return this.#state.approval_missing;
  }

  startTurn(now: number): void {
    // What an earlier turn lacked is no reason for how this one ends.
    const { usage } = this.#state;
    const fresh = { step: 0, turn_started: now, usage_before: usage, approval_missing: false };
    this.#update(now, { turn: this.#state.turn + 1, ...fresh });
    this.#enter('running', undefined, undefined, now);
  }

  /** The agent goes on with new input before its turn was announced as ended: it runs all along. */
  nextTurn(now: number): void {
    this.#unsettle();
    const { turn, usage } = this.#state;
    this.#update(now, { turn: turn + 1, step: 0, turn_started: now, usage_before: usage });
  }

  startStep(now: number): number {
    this.#update(now, { step: this.#state.step + 1 });
    return this.#state.step;
  }

  /** The turn has come to this, and goes on only until those below have settled. */
  settle(outcome: TurnOutcome, now: number): void {
    this.#update(now, { settling: outcome });
  }

  endTurn(status: Status, message: string, code: ErrorCode | undefined, now: number): void {
    this.waitingFor = undefined;
    this.currentTool = undefined;
    this.#enter(status, message, code, now);
  }

  close(keepStatus: boolean, reason: string, now: number): void {
    this.waitingFor = undefined;
    this.currentTool = undefined;
    const { status, message, code } = this.#state;
    const said = { ...(message === undefined ? {} : { message }), ...(code === undefined ? {} : { code }) };
    this.#update(now, { before_close: { status, ...said } });
    // The last answer stays readable beside `shutdown`.
    if (!keepStatus || !this.isFinal) this.#enter('shutdown', this.#state.message ?? reason, undefined, now);
    this.#update(now, { closed: true });
  }

  /**
   * It goes on where it was when it closed; a turn that was cut off counts as interrupted.
   *
   * @param waited whether there was input that no turn has begun with
   */
  reopen(now: number, waited = false): void {
    const { before_close: before, ...rest } = this.#state;
    this.#state = { ...rest, closed: false };
    const { status, message, code } = before ?? this.#state;
    if (status === 'running') this.#enter('interrupted', CUT_OFF, undefined, now);
    else if (status === 'pending_init' && waited) this.#enter('interrupted', NEVER_BEGUN, undefined, now);
    else if (status === 'shutdown') this.#enter('interrupted', message, undefined, now);
    else this.#enter(status, message, code, now);
  }

  used(usage: Usage, now: number): void {
    this.#update(now, { usage: addUsage(this.#state.usage, usage), last_call: usage.total_tokens });
  }

  /** Its conversation has become shorter, and a call takes about so many tokens now. */
  shrank(tokens: number, now: number): void {
    this.#update(now, { last_call: tokens, shrunk: true });
  }

  /** Whether that has happened since this was asked last. */
  takeShrunk(now: number): boolean {
    const { shrunk = false } = this.#state;
    if (shrunk) this.#update(now, { shrunk: false });
    return shrunk;
  }

  setPlan(plan: PlanStep[], now: number): void {
    this.#update(now, { plan });
  }

  setNote(note: string | undefined, now: number): void {
    const { note: _previous, ...rest } = this.#state;
    this.#state = note === undefined ? rest : { ...rest, note };
    this.#update(now, {});
  }

  missApproval(now: number): void {
    this.#update(now, { approval_missing: true });
  }

  #unsettle(): void {
    const { settling: _, ...rest } = this.#state;
    this.#state = rest;
  }

  #enter(status: Status, message: string | undefined, code: ErrorCode | undefined, now: number): void {
    this.#unsettle();
    const { message: _message, code: _code, ...rest } = this.#state;
    this.#state = {
      ...rest,
      status,
      since: status === this.#state.status ? this.#state.since : now,
      ...(message === undefined ? {} : { message }),
      ...(code === undefined ? {} : { code }),
    };
    this.#update(now, {});
  }

  #update(now: number, change: Partial<StandingCarry>): void {
    this.#state = { ...this.#state, ...change, updated: now };
  }

  get carry(): StandingCarry {
    return this.#state;
  }
}
