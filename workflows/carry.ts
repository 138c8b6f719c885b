import type { Verdict } from '../protocol/index.ts';
import type { ChildrenCarry } from './children.ts';
import type { ConversationCarry } from './conversation.ts';
import type { EventLogCarry } from './event-log.ts';
import type { InboxCarry } from './inbox.ts';
import type { MailboxCarry } from './mailbox.ts';
import type { OpenCommandsCarry } from './open-commands.ts';
import type { Order } from './order.ts';
import type { OutcomesCarry } from './outcomes.ts';
import type { SessionTreeCarry } from './session-tree.ts';
import type { StandingCarry } from './standing.ts';
import type { StepCarry } from './step-under-way.ts';

/** All that an agent takes with it when its workflow continues as new. */
export interface AgentCarry {
  conversation: ConversationCarry;
  inbox: InboxCarry;
  children: ChildrenCarry;
  events: EventLogCarry;
  standing: StandingCarry;
  tree?: SessionTreeCarry;
  /** Absent where it has none. */
  mailbox?: MailboxCarry;
  /** Absent where it has none. */
  commands?: OpenCommandsCarry;
  /** Tool calls that go on waiting. */
  step?: StepCarry;
  orders: Order[];
  /** Decisions of a person that have come for calls that go on waiting. */
  verdicts: Verdict[];
  operations: OutcomesCarry;
  /** The turn at which the agent was resumed: a one-shot root settles only after another one. */
  resumed_at?: number;
  /** Counts over the agent's whole life: reports sent, requests made, inputs named by Cadre. */
  counters: { reports: number; requests: number; inputs: number; approvals: number };
}
