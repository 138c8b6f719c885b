import { workflowInfo } from '@temporalio/workflow';
import type {
  Acknowledge,
  AgentIdentity,
  AgentInput,
  AgentReference,
  AgentSettings,
  AgentView,
  Approval,
  BudgetAnswer,
  ErrorBody,
  EventBody,
  ListAnswer,
  LookupAnswer,
  Mail,
  Report,
  Restore,
  RoleAnswer,
  SessionSettings,
  SlotAnswer,
  ToldEnd,
  TreeView,
  Verdict,
} from '../protocol/index.ts';
import { nextLife } from '../protocol/lives.ts';
import { viewOf } from './agent-view.ts';
import { CallLine } from './call-line.ts';
import type { AgentCarry } from './carry.ts';
import { Children } from './children.ts';
import { Conversation } from './conversation.ts';
import { EventLog } from './event-log.ts';
import { Inbox } from './inbox.ts';
import { Mailbox } from './mailbox.ts';
import { OpenCommands } from './open-commands.ts';
import type { Order } from './order.ts';
import { Outbox } from './outbox.ts';
import { Outcomes } from './outcomes.ts';
import { boundedReport, reportForWatchers } from './report-size.ts';
import { Requests } from './requests.ts';
import { SessionTree } from './session-tree.ts';
import { SideWork } from './side-work.ts';
import { Standing } from './standing.ts';
import { StepUnderWay } from './step-under-way.ts';
import { Stoppable } from './stoppable.ts';

/** Why and how an agent closes. */
export interface Closing {
  reason: string;
  keepStatus: boolean;
}

/** Somebody waits for the closing, and is told how the agent stood before. */
export interface CloseRequest {
  from: AgentIdentity['agent_id'];
  requestId: string;
  before: NonNullable<Acknowledge['before']>;
}

const ID_LETTERS = { requests: 'r', inputs: 'i', approvals: 'p' } as const;

/** One agent: its pieces of state, each in a class of its own, and what all of them need. */
export class AgentState {
  readonly identity: AgentIdentity;
  /** At the root only. */
  readonly session: SessionSettings | undefined;
  settings: AgentSettings;
  readonly conversation: Conversation;
  readonly inbox: Inbox;
  readonly children: Children;
  /** What its sub-agents have answered, and are to answer. */
  readonly mailbox: Mailbox;
  /** What it has left running between calls. */
  readonly commands: OpenCommands;
  readonly events: EventLog;
  readonly standing: Standing;
  /** At the root only. */
  readonly tree: SessionTree | undefined;
  readonly outbox = new Outbox();
  readonly slotAnswers = new Requests<SlotAnswer>();
  readonly lookupAnswers = new Requests<LookupAnswer>();
  readonly verdicts: Requests<Verdict>;
  readonly budgetAnswers = new Requests<BudgetAnswer>();
  readonly listAnswers = new Requests<ListAnswer>();
  /** What this agent has asked a person, and has no answer to. */
  readonly questions = new Map<string, Approval>();
  readonly acknowledgements = new Map<string, Acknowledge>();
  /** What has come of the operations of clients. */
  readonly operations: Outcomes;
  readonly sideWork = new SideWork();
  /** The storing of what was too long for the conversation: one at a time. */
  storing: Promise<void> = Promise.resolve();
  readonly orders: Order[];
  /** How many calls of the running turn wait while others have its slot. */
  lenders = 0;
  /** Its one request for a slot that is under way, which all share that wait for it. */
  reclaiming: Promise<ErrorBody | undefined> | undefined;
  /** How many tokens this agent may have spent before it asks the root again; given back at the end of a turn. */
  tokensLeased = 0;
  /** The turn in progress. */
  running: Stoppable | undefined;
  /** The tool calls of its newest model answer, until all have their outputs. */
  step: StepUnderWay | undefined;
  /** How the last turn ended, until the next report tells it: once, apart from how the agent stands by then. */
  ended: ToldEnd | undefined;
  /** What roles were asked for since the last model call, and the answers. */
  readonly roleAnswers = new Map<string, Promise<RoleAnswer>>();
  /** Calls that start agents, until each has an id for its own. */
  readonly spawnLine = new CallLine();
  /** Agents that are about to start: their ids are taken. */
  readonly starting = new Set<AgentIdentity['agent_id']>();
  /** Where what it was to be stands, when that could not be read. */
  unrestored: Restore | undefined;
  /** Agents that are taken for lost, while what is left below them is being ended. */
  readonly burials = new Map<AgentIdentity['agent_id'], Promise<void>>();
  closing: Closing | undefined;
  /** It is about to continue as new: from here on orders are carried, not followed. */
  movesOn = false;
  /** What has closed, leaf first, this agent last; undefined while it is open. */
  closed: AgentIdentity['agent_id'][] | undefined;
  /** Who asked for the closing, to be told when it is done. */
  readonly closeRequests: CloseRequest[] = [];
  readonly #counters: AgentCarry['counters'];
  #settingsSent = false;
  /** The turn at which it was resumed. */
  #resumedAt: number | undefined;
  onChange: () => void = () => {};

  /** @param carry what an earlier run or life has left */
  constructor(input: AgentInput<AgentCarry>, carry: AgentCarry | undefined) {
    const { identity, restore } = input;
    this.identity = identity;
    this.settings = input.settings;
    this.session = input.session;
    this.conversation = new Conversation(carry?.conversation);
    this.inbox = new Inbox(carry?.inbox);
    this.children = new Children(carry?.children, identity.parent_id !== undefined);
    this.mailbox = new Mailbox(carry?.mailbox);
    this.commands = new OpenCommands(carry?.commands);
    this.events = new EventLog(identity.agent_id, identity.session_id, carry?.events);
    this.standing = new Standing(Date.now(), carry?.standing);
    this.verdicts = new Requests(carry?.verdicts);
    this.operations = new Outcomes(carry?.operations);
    this.orders = [...(carry?.orders ?? [])];
    const reports = restore?.kind === 'resume' ? nextLife(restore.reports ?? 0) : 0;
    this.#counters = { reports, requests: 0, inputs: 0, approvals: 0, ...carry?.counters };
    this.#resumedAt = carry?.resumed_at;
    if (carry?.step !== undefined) this.step = StepUnderWay.from(carry.step);
    if (identity.parent_id === undefined) {
      this.tree = new SessionTree(identity.session_id, input.settings.limits, carry?.tree);
    }
  }

  /**
   * Goes on after it was closed, with everything that it had and nobody below it at work.
   *
   * @returns how many inputs no turn had begun with: they wait for the next one
   */
  reopen(): number {
    const now = Date.now();
    const held = this.inbox.hold();
    this.orders.splice(0);
    this.operations.giveUp();
    this.mailbox.giveUp(now);
    this.commands.clear();
    // What had its output by then has it; the others are left without.
    this.conversation.append(...(this.step?.outputs ?? []));
    this.step = undefined;
    this.conversation.mend();
    this.children.reopen(now);
    this.tree?.reopen(now);
    this.standing.reopen(now, held > 0);
    this.#resumedAt = this.standing.turn;
    return held;
  }

  /** Whether the agent has ended a turn in this life of its. */
  get hasEndedATurn(): boolean {
    return this.standing.turn > (this.#resumedAt ?? 0);
  }

  get id(): AgentIdentity['agent_id'] {
    return this.identity.agent_id;
  }

  get isRoot(): boolean {
    return this.tree !== undefined;
  }

  /** From here on the turn can be stopped; it may have been already, before this agent got to it. */
  beginRunning(): Stoppable {
    this.running ??= new Stoppable();
    return this.running;
  }

  /** A name for something this agent asks for or sends, unique over its whole life. */
  nextId(kind: keyof typeof ID_LETTERS): string {
    this.#counters[kind]++;
    return `${this.id}#${ID_LETTERS[kind]}${this.#counters[kind]}`;
  }

  emit(body: EventBody): void {
    this.events.add(body, Date.now());
  }

  /** How this agent stands now, in its own stream; others learn it by `report`. */
  emitOwnStatus(): void {
    const { status, isFinal, message } = this.standing;
    this.emit({ type: 'agent.status', receiver_id: this.id, status, is_final: isFinal, text: message ?? '' });
  }

  warn(text: string): void {
    this.emit({ type: 'warning', text });
  }

  get view(): AgentView {
    return viewOf(this);
  }

  get treeView(): TreeView {
    if (this.tree !== undefined) {
      const { slots } = this.tree;
      return { agents: [this.view, ...this.tree.views], slots: { used: slots.used, max: slots.max } };
    }
    return { agents: [this.view, ...this.children.views], partial: true };
  }

  /** This agent as activities get it; its settings go along once a run. */
  reference(): AgentReference {
    const sent = this.#settingsSent;
    this.#settingsSent = true;
    return {
      agent_id: this.id,
      session_id: this.identity.session_id,
      depth: this.identity.depth,
      turn: this.standing.turn,
      step: this.standing.step,
      ...(this.#isPlanDue ? { plan_due: true } : {}),
      ...(sent ? {} : { settings: this.settings }),
    };
  }

  /** Before the first agent that it starts. */
  get #isPlanDue(): boolean {
    const { limits } = this.settings;
    return limits.plan_first && this.standing.plan.length === 0 && this.children.ids.length === 0;
  }

  /** How this agent stands, under the number of its newest report. */
  get ownReport(): Report {
    const { call_id: callId } = this.identity;
    return {
      view: this.view,
      seq: this.#counters.reports,
      taken: this.inbox.taken,
      ...(callId === undefined ? {} : { call_id: callId }),
    };
  }

  /** Tells parent, root and watchers how this agent stands; a receiver that is gone makes this agent an orphan. */
  report(): void {
    const { parent_id: parent, session_id: root } = this.identity;
    this.onChange();
    this.#counters.reports++;
    const report = this.#withEnd(this.ownReport);
    const watchers = this.tree?.watches.of(this.id) ?? [];
    for (const watcher of watchers) {
      this.outbox.post(watcher, { type: 'report', report: reportForWatchers(report, watchers.length) });
    }
    if (parent === undefined) return;
    const toParent = { type: 'report', report: boundedReport(report, 'parent') } as const;
    this.outbox.post(parent, toParent, () => this.#orphaned('parent'));
    if (parent !== root) this.postToRoot({ type: 'report', report: boundedReport(report, 'root') });
  }

  #withEnd(report: Report): Report {
    if (this.ended === undefined) return report;
    const { message, ...ended } = this.ended;
    this.ended = undefined;
    return { ...report, ended: message === report.view.message ? ended : { ...ended, message } };
  }

  /** Sends to the root of the session; without one there is nothing to work for. */
  postToRoot(mail: Mail): void {
    this.outbox.post(this.identity.session_id, mail, () => this.#orphaned('root'));
  }

  /** Asks the root something, and waits for its answer; undefined when this agent closes first. */
  askRoot<A extends { request_id: string }>(
    question: Mail,
    answers: Requests<A>,
    requestId: string,
  ): Promise<A | undefined> {
    this.postToRoot(question);
    return answers.await(requestId, () => this.closing !== undefined);
  }

  #orphaned(whose: 'parent' | 'root'): void {
    const { parent_id: parent, session_id: root } = this.identity;
    // A parent that is gone may have left nobody else who could tell.
    if (whose === 'parent' && parent !== undefined && parent !== root) {
      this.postToRoot({
        type: 'slot',
        request: { kind: 'release', agent_id: parent, closed: true, from: this.id },
      });
    }
    if (this.closing !== undefined) return;
    this.orders.push({ type: 'shutdown', reason: `the ${whose} of this agent is gone` });
  }

  get pointer(): ReturnType<Conversation['pointer']> {
    return this.conversation.pointer(this.id, workflowInfo().runId);
  }

  get carry(): AgentCarry {
    return {
      conversation: this.conversation.carry,
      inbox: this.inbox.carry,
      children: this.children.carry,
      events: this.events.carry,
      standing: this.standing.carry,
      orders: this.orders,
      operations: this.operations.carry,
      verdicts: this.verdicts.carry,
      counters: this.#counters,
      ...(this.step === undefined ? {} : { step: this.step.carry }),
      ...(this.mailbox.isEmpty ? {} : { mailbox: this.mailbox.carry }),
      ...(this.commands.isEmpty ? {} : { commands: this.commands.carry }),
      ...(this.#resumedAt === undefined ? {} : { resumed_at: this.#resumedAt }),
      ...(this.tree === undefined ? {} : { tree: this.tree.carry }),
    };
  }
}
