import {
  type AgentView,
  type Approval,
  type ApprovalRule,
  CadreError,
  type Decision,
  nameOf,
} from '../../protocol/index.ts';
import type { Output } from '../output.ts';
import { decisionText } from '../render/decision-text.ts';
import { savedText } from '../render/saved-text.ts';
import { harmless } from '../terminal-text.ts';
import type { TerminalInput } from './terminal-input.ts';

const KEYS: Readonly<Record<string, Decision>> = {
  y: 'approve',
  s: 'approve_for_session',
  n: 'deny',
  a: 'abort',
};
/** For the session, and by a rule in later ones. */
const ALWAYS = 'r';
/** What was typed before the question could be read is no answer to it. */
const READING_MS = 400;
const NOT_HERE = 'answered elsewhere, or taken back';

export interface PromptOptions {
  output: Output;
  input: TerminalInput;
  /** What is drawn in place makes way for a question. */
  screen: { pause(): void; resume(): void } | undefined;
  pending(): Promise<Approval[]>;
  decide(approvalId: string, decision: Decision): Promise<unknown>;
  /** Keeps a rule for later sessions; gives the file. */
  save(rule: ApprovalRule): Promise<string>;
}

/** Asks the person at the terminal what the agents of a session need to know, one question at a time. */
export class ApprovalPrompt {
  readonly #options: PromptOptions;
  readonly #answered = new Set<string>();
  #asking: Approval | undefined;
  #looking = false;
  #ended = false;

  constructor(options: PromptOptions) {
    this.#options = options;
  }

  /** Told of the session each time it was looked at. */
  async look(agents: readonly AgentView[]): Promise<void> {
    const anybodyWaits = agents.some((agent) => agent.waiting_for === 'approval');
    if (this.#looking || this.#ended || (!anybodyWaits && this.#asking === undefined)) return;
    this.#looking = true;
    try {
      this.#heed(await this.#options.pending());
    } finally {
      this.#looking = false;
    }
  }

  /** No more questions: what is still on the screen was settled without the person, or is left open. */
  end(session: 'ended' | 'left'): void {
    this.#ended = true;
    const approvalId = this.#asking?.approval_id;
    this.#close(session === 'ended' ? NOT_HERE : `still open: cadre approve|deny ${approvalId}`);
  }

  #heed(pending: readonly Approval[]): void {
    if (this.#ended) return;
    const asking = this.#asking;
    if (asking !== undefined && !pending.some((approval) => approval.approval_id === asking.approval_id)) {
      this.#close(NOT_HERE);
    }
    if (this.#asking !== undefined) return;
    const next = pending.find((approval) => !this.#answered.has(approval.approval_id));
    if (next !== undefined) this.#ask(next);
  }

  #ask(approval: Approval): void {
    const { output, input, screen } = this.#options;
    this.#asking = approval;
    screen?.pause();
    const { bold, cyan, dim } = output.colors;
    const always = approval.rule === undefined ? '' : ` · ${ALWAYS} always, by a rule`;
    const by = approval.tool === undefined ? '' : `, ${harmless(approval.tool)}`;
    const lines = [
      '',
      `${cyan('?')} ${bold(nameOf(approval.asking_id))} (${approval.role}${by}) asks to: ${bold(harmless(approval.summary))}`,
      `  why: ${harmless(approval.reason)}`,
      `  ${dim(`y once · s for the session${always} · n deny · a deny and stop its turn   (${approval.approval_id})`)}`,
    ];
    output.stderr.write(`${lines.join('\n')}\n`);
    const shownAt = Date.now();
    input.acquire();
    input.onKey = (key) => {
      const pressed = key.toLowerCase();
      const rule = pressed === ALWAYS ? approval.rule : undefined;
      const decision = rule === undefined ? KEYS[pressed] : 'approve_for_session';
      if (decision === undefined || Date.now() - shownAt < READING_MS) return;
      void this.#answer(approval, decision, rule);
    };
  }

  async #answer(approval: Approval, decision: Decision, rule: ApprovalRule | undefined): Promise<void> {
    const { output, decide } = this.#options;
    this.#answered.add(approval.approval_id);
    this.#close(decisionText({ ...approval, decision }));
    try {
      await decide(approval.approval_id, decision);
    } catch (error) {
      if (error instanceof CadreError && error.code === 'approval_not_found') return;
      this.#answered.delete(approval.approval_id);
      output.warn(`the answer did not arrive: ${messageOf(error)}`);
      return;
    }
    if (rule !== undefined) await this.#save(rule);
  }

  async #save(rule: ApprovalRule): Promise<void> {
    const { output, save } = this.#options;
    try {
      output.stderr.write(`${savedText({ rule, file: await save(rule) })}\n`);
    } catch (error) {
      output.warn(`it is allowed for this session, and no rule was saved: ${messageOf(error)}`);
    }
  }

  #close(said: string): void {
    if (this.#asking === undefined) return;
    const { output, input, screen } = this.#options;
    this.#asking = undefined;
    input.onKey = undefined;
    input.release();
    output.stderr.write(`  ${said}\n`);
    screen?.resume();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
