import type { Agent } from '../client/types.ts';
import { type AgentId, CadreError, isAgentId, type SessionId, sessionOf } from '../protocol/index.ts';
import { cadreHome, ensureFolder } from '../server/home.ts';
import type { Config } from './config/schema.ts';
import type { Invocation } from './invocation.ts';
import {
  type LocalSession,
  type ServingMode,
  type Surroundings,
  serveWhileNeeded,
} from './serving/serving.ts';
import { SessionFiles } from './serving/session-files.ts';
import { TemporalLink } from './temporal-link.ts';

const LOCAL_QUEUE = 'cadre-local/';
/** A command that ends lets what runs finish for this long; the session goes on elsewhere. */
const GRACE_MS = 3_000;

/** The task queue of a local session: polled by whoever works for it, and by nobody else. */
export function localQueue(session: SessionId): string {
  return `${LOCAL_QUEUE}${session}`;
}

/** Where a command works: CADRE_HOME, the way to Temporal, and the sessions that this person serves. */
export class Workplace {
  readonly home: string;
  readonly link: TemporalLink;
  readonly files: SessionFiles;
  readonly #invocation: Invocation;

  private constructor(invocation: Invocation, home: string, link: TemporalLink) {
    this.#invocation = invocation;
    this.home = home;
    this.link = link;
    this.files = new SessionFiles(home);
  }

  /** @throws CadreError `home_unwritable`, `temporal_unreachable` or `server_unavailable` */
  static async open(invocation: Invocation, config?: Config): Promise<Workplace> {
    const { temporal } = config ?? (await invocation.loadConfig()).config;
    const home = ensureFolder(cadreHome(invocation.environment));
    const link = await TemporalLink.open({ temporal, home, output: invocation.output });
    return new Workplace(invocation, home, link);
  }

  get surroundings(): Surroundings {
    const { output, environment } = this.#invocation;
    return {
      startWorker: async (queue, { workflowsOnly }) => {
        const { createWorker } = await import('../worker/create-worker.ts');
        return this.link.reach(() =>
          createWorker({
            ...this.link.connectOptions,
            queue,
            stateDir: this.home,
            environment,
            workflowsOnly,
            graceMs: GRACE_MS,
            onLog: (line) => output.debug(line),
          }),
        );
      },
      generation: () => this.link.generation,
      trouble: (message) => output.debug(message),
    };
  }

  session(id: SessionId): LocalSession {
    return { queue: localQueue(id), lockPath: this.files.lockPath(id) };
  }

  /**
   * Does something with an agent. Where its session is local and nobody works for it, this process does meanwhile.
   *
   * @throws CadreError `agent_not_found`
   */
  async withAgent<T>(
    reference: string,
    mode: ServingMode,
    action: (agent: Agent, id: AgentId) => Promise<T>,
  ): Promise<T> {
    const id = agentIdOf(reference);
    const { queue } = await this.link.reach((client) => client.get(id).describe());
    const local = queue.startsWith(LOCAL_QUEUE) ? this.session(sessionOf(id)) : undefined;
    if (local !== undefined) await this.files.prepare();
    return serveWhileNeeded(local, mode, this.surroundings, () =>
      this.link.reach((client) => action(client.get(id), id)),
    );
  }

  async close(): Promise<void> {
    await this.link.close();
  }
}

/** Opens the workplace for one command and closes it behind it. */
export async function atWorkplace<T>(
  invocation: Invocation,
  action: (place: Workplace) => Promise<T>,
): Promise<T> {
  const place = await Workplace.open(invocation);
  try {
    return await action(place);
  } finally {
    await place.close();
  }
}

/** @throws CadreError for a text that cannot be an agent's id */
export function agentIdOf(reference: string): AgentId {
  if (isAgentId(reference)) return reference;
  throw new CadreError(
    'agent_not_found',
    `There is no agent ${JSON.stringify(reference)}: that is not an id.`,
    {
      hint: 'An id looks like a0k3v9x2m4qd7 or a0k3v9x2m4qd7/worker-1; `cadre ps --all` lists them.',
    },
  );
}
