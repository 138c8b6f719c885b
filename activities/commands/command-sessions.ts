import { randomInt } from 'node:crypto';
import { type AgentId, CadreError } from '../../protocol/index.ts';
import { CommandSession, type SessionCommand } from './command-session.ts';

/** How many an agent may have at a time on one worker. */
const MOST_PER_AGENT = 8;
/** And all agents of a worker together: each has buffers of its own. */
const MOST = 64;
/** Of those that are over: what they were, for whoever asks late. */
const MOST_REMEMBERED = 500;
const TITLE_CHARACTERS = 80;

/** The commands of a worker that go on between calls. They end with their agent, and with the worker. */
export class CommandSessions {
  readonly #open = new Map<number, CommandSession>();
  readonly #over = new Map<number, { agent: AgentId; how: string }>();
  readonly #limits: { perAgent: number; all: number };
  #isClosed = false;

  constructor(limits: { perAgent?: number; all?: number } = {}) {
    this.#limits = { perAgent: limits.perAgent ?? MOST_PER_AGENT, all: limits.all ?? MOST };
  }

  /** Whose there are. */
  get agents(): AgentId[] {
    return [...new Set([...this.#open.values()].map(({ command }) => command.agent))];
  }

  /**
   * Starts a command.
   *
   * @throws CadreError `limit_command_sessions`, with those that are open and how to end one
   */
  begin(command: SessionCommand): CommandSession {
    if (this.#isClosed) throw new CadreError('tool_failed', 'The worker is being shut down.');
    this.#makeRoom(command.agent);
    const session = new CommandSession(this.#newId(), command);
    this.#open.set(session.id, session);
    return session;
  }

  /** @throws CadreError `command_session_not_found` for one that is over, or another agent's */
  of(agent: AgentId, id: number): CommandSession {
    const session = this.#open.get(id);
    if (session?.command.agent === agent) return session;
    const past = this.#over.get(id);
    const how = past?.agent === agent ? past.how : UNKNOWN;
    throw new CadreError('command_session_not_found', `There is no session ${id}: ${how}.`, {
      hint: `${this.#listed(agent)} exec_command starts a command.`,
    });
  }

  /** It has ended, and its last output was handed out. */
  forget(session: CommandSession, how: string): void {
    if (!this.#open.delete(session.id)) return;
    this.#over.set(session.id, { agent: session.command.agent, how });
    for (const id of this.#over.keys()) {
      if (this.#over.size <= MOST_REMEMBERED) break;
      this.#over.delete(id);
    }
  }

  /** Ends all that an agent has; resolves when nothing of it runs any more. */
  async endOf(agent: AgentId): Promise<void> {
    await this.#end([...this.#open.values()].filter(({ command }) => command.agent === agent));
  }

  /** Ends all; from here on none begins. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end([...this.#open.values()]);
  }

  async #end(sessions: CommandSession[]): Promise<void> {
    await Promise.all(
      sessions.map(async (session) => {
        this.forget(session, 'it was ended with its agent');
        await session.discard();
      }),
    );
  }

  /** What has ended by itself, and nobody has looked at since, goes first. */
  #makeRoom(agent: AgentId): void {
    const own = [...this.#open.values()].filter(({ command }) => command.agent === agent);
    const isFull = own.length >= this.#limits.perAgent;
    if (!isFull && this.#open.size < this.#limits.all) return;
    const ended = (isFull ? own : [...this.#open.values()]).find(({ isOver }) => isOver);
    if (ended !== undefined) {
      const code =
        ended.end === undefined ? 'it has failed' : `it has ended (exit code ${ended.end.exitCode})`;
      this.forget(ended, `${code}, and its last output was given up for a new one`);
      void ended.discard();
      return;
    }
    const whose = isFull
      ? `${own.length} sessions of yours are open`
      : `${this.#open.size} sessions are open on this worker`;
    throw new CadreError('limit_command_sessions', `Nothing was run: ${whose}, and that is the most.`, {
      hint: `${this.#listed(agent)} End one first: write_stdin with its session_id and chars "\\u0003", or what makes it quit.`,
    });
  }

  #listed(agent: AgentId): string {
    const own = [...this.#open.values()].filter(({ command }) => command.agent === agent);
    if (own.length === 0) return 'No session is open.';
    return `Open: ${own.map((each) => `${each.id} (${shown(each)})`).join(', ')}.`;
  }

  /** Not to be guessed from others, and other than those of other workers. */
  #newId(): number {
    for (;;) {
      const id = randomInt(100_000, 1_000_000_000);
      if (!this.#open.has(id) && !this.#over.has(id)) return id;
    }
  }
}

const UNKNOWN =
  'none of that number was started, or the worker that held it is gone, and its command was ended with it';

function shown({ command: { title }, isOver }: CommandSession): string {
  const line = title.replace(/\s+/g, ' ').trim();
  const short = line.length <= TITLE_CHARACTERS ? line : `${line.slice(0, TITLE_CHARACTERS - 1)}…`;
  return isOver ? `${short}; has ended` : short;
}
