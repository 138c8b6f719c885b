import { type Approval, type Decision, type SessionId, sessionOf } from '../../protocol/index.ts';
import type { Workplace } from '../workplace.ts';
import type { Call } from './define-mcp-tool.ts';
import { decisionIn, elicitation, passOn } from './questions.ts';

/** A person takes the time that it needs to answer a question. */
const ANSWER_MS = 24 * 3_600_000;
/** What clients are told of a question that they need not show any longer. */
const TAKEN_BACK = 'answered elsewhere, or taken back';

export interface PersonOptions {
  place: Workplace;
  /** Approvals that the person did not want to decide when asked. */
  dismissed: readonly string[];
  /** Told of a question that has to go with the answer of the call, since the client takes it in no other way. */
  onQuestion(approval: Approval): void;
  /** Told when something waits that the person does not decide. */
  onUnanswered(): void;
}

/**
 * The person behind a client, asked about approvals one at a time. What asks for them is watched on meanwhile: a question
 * that somebody else answers, or that nobody waits for any more, is taken back.
 */
export class AskedPerson {
  readonly #call: Call;
  readonly #options: PersonOptions;
  readonly #waiting = new Map<SessionId, readonly Approval[]>();
  readonly #dismissed: Set<string>;
  readonly #decided = new Set<string>();
  #asking: { approval: Approval; stop: AbortController } | undefined;
  #isDeciding = false;
  #hasLeft = false;

  constructor(call: Call, options: PersonOptions) {
    this.#call = call;
    this.#options = options;
    this.#dismissed = new Set(options.dismissed);
  }

  /** What waits for an approval, in all sessions. */
  get pending(): readonly Approval[] {
    return [...this.#waiting.values()].flat().filter(({ approval_id: id }) => !this.#decided.has(id));
  }

  /** Told of what waits in a session, each time that was looked at. */
  heed(session: SessionId, approvals: readonly Approval[]): void {
    this.#waiting.set(session, approvals);
    const asked = this.#asking?.approval.approval_id;
    if (asked !== undefined && !this.pending.some(({ approval_id: id }) => id === asked)) this.#takeBack();
    this.#next();
  }

  /** No more questions: the call has its answer. */
  leave(): void {
    this.#hasLeft = true;
    this.#takeBack();
  }

  #takeBack(): void {
    const asking = this.#asking;
    this.#asking = undefined;
    asking?.stop.abort(TAKEN_BACK);
  }

  #next(): void {
    const { pending } = this;
    if (this.#hasLeft || this.#isDeciding || this.#asking !== undefined || pending.length === 0) return;
    const { canAsk, era } = this.#call;
    const open = canAsk ? pending.find(({ approval_id: id }) => !this.#dismissed.has(id)) : undefined;
    if (open === undefined) this.#options.onUnanswered();
    else if (era === 'modern') this.#options.onQuestion(open);
    else void this.#ask(open);
  }

  async #ask(approval: Approval): Promise<void> {
    const { request, output } = this.#call;
    const asking = { approval, stop: new AbortController() };
    this.#asking = asking;
    // A client that answers with an error, or with what is no answer, is one that cannot ask.
    const answer = await request
      .send(elicitation(approval), { signal: asking.stop.signal, timeout: ANSWER_MS })
      .catch((error: unknown) => output.debug(`a question was not answered: ${error}`));
    if (this.#asking !== asking) return;
    this.#asking = undefined;
    const decision = decisionIn(answer);
    // It may settle others, too: what it leaves open comes with the next look.
    if (decision !== undefined && (await this.#decide(approval, decision))) return;
    this.#dismissed.add(approval.approval_id);
    this.#next();
  }

  /** @returns whether it is settled */
  async #decide({ approval_id: id, asking_id }: Approval, decision: Decision): Promise<boolean> {
    this.#decided.add(id);
    this.#isDeciding = true;
    try {
      await passOn(this.#options.place, sessionOf(asking_id), id, decision);
      return true;
    } catch (error) {
      this.#decided.delete(id);
      const reason = error instanceof Error ? error.message : String(error);
      this.#call.output.warn(`The answer to ${id} did not arrive: ${reason}`);
      return false;
    } finally {
      this.#isDeciding = false;
    }
  }
}
