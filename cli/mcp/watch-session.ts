import {
  type AgentEvent,
  type AgentView,
  type Approval,
  nameOf,
  type SessionId,
} from '../../protocol/index.ts';
import { SessionFeed } from '../follow/session-feed.ts';
import { eventLine } from '../render/event-line.ts';
import { retryLine } from '../render/retry-line.ts';
import { standstillLine } from '../serving/tell-standstill.ts';
import { oneLine } from '../terminal-text.ts';
import type { Workplace } from '../workplace.ts';
import type { Progress } from './progress.ts';

export interface WatchOptions {
  session: SessionId;
  progress: Progress;
  /** Whether everything that is seen is news; else what the first look brings happened before. */
  fresh: boolean;
  /** Whether it has ended, so that there is nothing to watch, and nobody to ask but at the last look. */
  closed?: boolean;
  /** Told of the session each time it was looked at. */
  onTree?: (agents: readonly AgentView[]) => void;
  /** Told of the questions that wait for a person, as long as there are any, and when there are none any more. */
  onApprovals?: (approvals: readonly Approval[]) => void;
}

/** Looks at a session, tells the client what happens there, and says who has to be answered. */
export class SessionWatch {
  readonly #place: Workplace;
  readonly #options: WatchOptions;
  readonly #feed: SessionFeed;
  readonly #over = new AbortController();
  readonly #watching: Promise<void>;
  #isNews: boolean;
  #isAsking = false;
  #wasAsked = false;

  constructor(place: Workplace, options: WatchOptions) {
    const { session, progress, fresh, closed = false } = options;
    this.#place = place;
    this.#options = options;
    this.#isNews = fresh;
    this.#feed = new SessionFeed(session, async (id) => place.link.reach(async (client) => client.get(id)), {
      onEvent: (event, view) => {
        const line = this.#isNews ? progressLine(event, view) : undefined;
        if (line !== undefined) progress.tell(line);
      },
      onRetry: (agent, retry) => progress.tell(retryLine(agent, retry)),
      onStandstill: (agent, failure) => progress.tell(standstillLine(agent, failure)),
      onTree: (agents) => this.#look(agents),
    });
    this.#watching = closed ? Promise.resolve() : this.#feed.run(this.#over.signal);
  }

  #look(agents: readonly AgentView[]): void {
    const { progress, onTree } = this.#options;
    this.#isNews = true;
    progress.standing = () => standingOf(agents);
    if (this.#over.signal.aborted) return;
    onTree?.(agents);
    // A root that does not answer is asked again at the next look.
    this.#ask(agents).catch(() => {});
  }

  async #ask(agents: readonly AgentView[]): Promise<void> {
    const anybodyWaits = agents.some((agent) => agent.waiting_for === 'approval');
    if (this.#isAsking || !(anybodyWaits || this.#wasAsked)) return;
    this.#isAsking = true;
    try {
      const { session, onApprovals } = this.#options;
      const approvals = await this.#place.link.reach((client) => client.get(session).approvals());
      if (this.#over.signal.aborted || !(approvals.length > 0 || this.#wasAsked)) return;
      this.#wasAsked = approvals.length > 0;
      onApprovals?.(approvals);
    } finally {
      this.#isAsking = false;
    }
  }

  stop(): void {
    this.#over.abort();
  }

  /** After the end: the rest of what has happened, and the session as it ended. */
  async lastLook(trouble: (error: unknown) => void): Promise<AgentView[]> {
    this.stop();
    const { session } = this.#options;
    return this.#place.withAgent(session, 'answer', async () => {
      // A look that is under way may wait for somebody who can answer it.
      await this.#watching;
      return this.#feed.lastLook(trouble);
    });
  }
}

/** An event with the agent's name and role; a question names its tool here, not the command. */
function progressLine(event: AgentEvent, { role }: AgentView): string | undefined {
  const who = `${nameOf(event.agent_id)} (${role})`;
  if (event.type !== 'approval.requested') return eventLine(event, who);
  if (event.asking_id !== event.agent_id) return undefined;
  return `${who}: waits for an approval: ${oneLine(event.summary, 160)} (${event.approval_id})`;
}

const SHOWN = 6;

/** Who is at work, and at what. */
function standingOf(agents: readonly AgentView[]): string {
  const busy = agents.filter((agent) => !agent.is_final && agent.idle !== true);
  const shown = busy.slice(0, SHOWN).map((agent) => {
    const { agent_id: id, role, waiting_for: waits, current_tool: tool } = agent;
    const what = tool === undefined ? (waits ?? 'working') : oneLine(tool, 60);
    return `${nameOf(id)} (${role}): ${what}`;
  });
  if (busy.length > SHOWN) shown.push(`${busy.length - SHOWN} more`);
  return shown.length === 0 ? 'nobody is at work' : shown.join('; ');
}
