import { isMissing } from '../client/is-missing.ts';
import type { Agent } from '../client/types.ts';
import { missingKeyHint } from '../protocol/encryption.ts';
import {
  type AgentId,
  CadreError,
  DEFAULT_NAMESPACE,
  isAgentId,
  localQueue,
  localSessionOf,
  type SessionId,
  sessionOf,
  workerCommand,
} from '../protocol/index.ts';
import { ownRollouts, Rollouts } from '../rollout/rollouts.ts';
import { cadreHome, ensureFolder } from '../server/home.ts';
import { loadKeys } from './config/encryption.ts';
import type { Environment } from './config/environment.ts';
import type { Config } from './config/schema.ts';
import type { Invocation } from './invocation.ts';
import { ownPlaces } from './own-places.ts';
import { agentAmong, LAST } from './references.ts';
import {
  type LocalSession,
  type ServingMode,
  type Surroundings,
  serveWhileNeeded,
} from './serving/serving.ts';
import { SessionFiles, type SessionRecord } from './serving/session-files.ts';
import { TemporalLink } from './temporal-link.ts';

/** A command that ends lets what runs finish for this long; the session goes on elsewhere. */
const GRACE_MS = 3_000;

/** Where a command works: CADRE_HOME, the way to Temporal, and the sessions that this person serves. */
export class Workplace {
  readonly home: string;
  readonly link: TemporalLink;
  readonly files: SessionFiles;
  readonly config: Config;
  /** What sessions have left that Temporal may keep no longer. */
  readonly rollouts: Rollouts;
  readonly #invocation: Invocation;

  private constructor(invocation: Invocation, config: Config, home: string, link: TemporalLink) {
    this.#invocation = invocation;
    this.config = config;
    this.home = home;
    this.link = link;
    this.files = new SessionFiles(home);
    const { encryption: keys } = link.connectOptions;
    this.rollouts = new Rollouts({ stateDir: home, directory: config.rollouts.directory, keys });
  }

  /**
   * @param session the session that the command is about: one that was started with an address is found there again
   * @throws CadreError `config_invalid` for keys that are not where they should be, `home_unwritable`,
   * `temporal_unreachable` or `server_unavailable`
   */
  static async open(invocation: Invocation, config?: Config, session?: SessionId): Promise<Workplace> {
    const loaded = config ?? (await invocation.loadConfig()).config;
    const configured = loaded.temporal;
    const keys = loadKeys(loaded.encryption, invocation.environment);
    const home = ensureFolder(cadreHome(invocation.environment));
    const record = session === undefined ? undefined : await new SessionFiles(home).read(session);
    const temporal = configured.address === undefined ? { ...placeOf(record), ...configured } : configured;
    const link = await TemporalLink.open({
      temporal,
      home,
      output: invocation.output,
      encryption: { keys, config: loaded.encryption },
    });
    return new Workplace(invocation, loaded, home, link);
  }

  /** What leads back to the sessions that are started here; nothing for the embedded server. */
  get address(): { address?: string; namespace?: string } {
    const { address, namespace } = this.link.connectOptions;
    if (this.link.isEmbedded || address === undefined) return namespace === undefined ? {} : { namespace };
    return { address, ...(namespace === undefined ? {} : { namespace }) };
  }

  /** What a session that is started here is sealed with, for its record. */
  get sealing(): { key_ids?: string[] } {
    const { encryption: ring } = this.link.connectOptions;
    return ring === undefined ? {} : { key_ids: [ring.current] };
  }

  /** What workers find the keys of models in; those of encryption stand in no environment that a tool may get. */
  get workerEnvironment(): Environment {
    const { [this.config.encryption?.key_env ?? '']: _keys, ...environment } = this.#invocation.environment;
    return environment;
  }

  get surroundings(): Surroundings {
    const { output } = this.#invocation;
    return {
      startWorker: async (queue, { workflowsOnly }) => {
        const session = localSessionOf(queue);
        if (session !== undefined) await this.#requireKeys(session);
        const { createWorker } = await import('../worker/create-worker.ts');
        return this.link.reach(() =>
          createWorker({
            ...this.link.connectOptions,
            queue,
            stateDir: this.home,
            readOnly: ownPlaces(this.#invocation.environment, this.config),
            environment: this.workerEnvironment,
            rollouts: ownRollouts(this.home),
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
   * The session, if this person's processes may work for it; undefined for a queued one, and for one that another
   * person, or this one on another machine, has started on a server that they share.
   */
  async localSession(id: SessionId, queue: string): Promise<LocalSession | undefined> {
    if (queue !== localQueue(id)) return undefined;
    if (!this.link.isEmbedded && (await this.files.read(id)) === undefined) return undefined;
    await this.files.prepare();
    return this.session(id);
  }

  /**
   * Does something with an agent. Where its session is local and nobody works for it, this process does meanwhile.
   *
   * @throws CadreError `agent_not_found`, or `no_worker` for a question to a queued session whose queue has none
   */
  async withAgent<T>(id: AgentId, mode: ServingMode, action: (agent: Agent) => Promise<T>): Promise<T> {
    const queue = await this.#queueOf(id);
    const local = await this.localSession(sessionOf(id), queue);
    if (local === undefined && mode === 'answer') await this.#requireWorkers(queue);
    return serveWhileNeeded(local, mode, this.surroundings, () =>
      this.link.reach((client) => action(client.get(id))),
    );
  }

  /** The same for a question to a session: one that Temporal keeps no longer is served by nobody, since none is asked. */
  async withSession<T>(session: SessionId, action: () => Promise<T>): Promise<T> {
    return (await this.#isGone(session)) ? action() : this.withAgent(session, 'answer', action);
  }

  /**
   * The queue that an agent lives on; of one that Temporal keeps no longer (`gone`), the one where it would go on.
   *
   * @throws CadreError `agent_not_found` where no rollout that is here has it either, `rollout_invalid`
   */
  async lastQueueOf(id: AgentId): Promise<{ queue: string; gone: boolean }> {
    try {
      return { queue: (await this.link.reach((client) => client.get(id).describe())).queue, gone: false };
    } catch (error) {
      const rollout = isMissing(error) ? await this.rollouts.find(sessionOf(id)) : undefined;
      if (rollout?.agent(id) === undefined) throw error;
      return { queue: this.#invocation.options.queue ?? rollout.header.queue, gone: true };
    }
  }

  /** That of the session, where somebody has deleted the agent: what is left below it may need a worker. */
  async #queueOf(id: AgentId): Promise<string> {
    try {
      return (await this.link.reach((client) => client.get(id).describe())).queue;
    } catch (error) {
      const record = isMissing(error) ? await this.files.read(sessionOf(id)) : undefined;
      if (record === undefined) throw error;
      return record.queue;
    }
  }

  /**
   * A worker that lacks a key of the session could do nothing for it. From here on it may be this process's key, too,
   * that its payloads are sealed with. What Temporal keeps no longer is read from its rollout, which knows its own key.
   */
  async #requireKeys(id: SessionId): Promise<void> {
    const record = await this.files.read(id);
    if (record === undefined) return;
    const { encryption: ring } = this.link.connectOptions;
    const { key_ids = [] } = record;
    const missing = key_ids.find((key) => ring?.keys.has(key) !== true);
    if (missing !== undefined) {
      if (await this.#isGone(id)) return this.files.write({ ...without(record), ...this.sealing });
      const problem = `session ${id} is sealed with the key ${missing}, which is not here.`;
      throw new CadreError('key_missing', problem, { hint: missingKeyHint(missing) });
    }
    if (ring === undefined || key_ids.includes(ring.current)) return;
    await this.files.write({ ...record, key_ids: [...key_ids, ring.current] });
  }

  async #isGone(session: SessionId): Promise<boolean> {
    const describing = this.link.reach((client) => client.get(session).describe());
    return describing.then(() => false, isMissing);
  }

  /** Makes a session this person's own that is about to be brought back from its rollout. */
  async adopt(session: SessionId): Promise<void> {
    if (this.rollouts.pathOf(session) === undefined || (await this.files.read(session)) !== undefined) return;
    if (!(await this.#isGone(session))) return;
    const rollout = await this.rollouts.find(session);
    if (rollout === undefined) return;
    await this.files.write({
      session_id: session,
      queue: this.#invocation.options.queue ?? rollout.header.queue,
      cwd: rollout.agent(session)?.settings.working_directory ?? this.#invocation.cwd,
      started_at: rollout.header.written_at,
      ...this.address,
      ...this.sealing,
    });
  }

  /** Removes what this machine keeps of sessions that the server has forgotten; what others hold is left alone. */
  async prune(): Promise<void> {
    await this.files.prune(async (record) => this.#isAtServer(record) && this.#isGone(record.session_id));
  }

  /** Whether this machine has started that session, on the server that this command works with. */
  async knows(id: AgentId): Promise<boolean> {
    const record = await this.files.read(sessionOf(id));
    return record !== undefined && this.#isAtServer(record);
  }

  #isAtServer(record: SessionRecord): boolean {
    const { address, namespace = DEFAULT_NAMESPACE } = this.address;
    return record.address === address && (record.namespace ?? DEFAULT_NAMESPACE) === namespace;
  }

  /** The agent of that session which a reference means; a short one is looked up in its tree. */
  async agentNamed(reference: string, session: SessionId): Promise<AgentId> {
    if (isAgentId(reference)) return reference;
    if (reference === LAST) return session;
    const { agents } = await this.withAgent(session, 'answer', (agent) => agent.tree());
    return agentAmong(
      reference,
      session,
      agents.map((agent) => agent.agent_id),
    );
  }

  /** Temporal would let the question wait for its whole time. */
  async #requireWorkers(queue: string): Promise<void> {
    if (await this.link.reach((client) => client.hasWorkers(queue))) return;
    throw new CadreError('no_worker', `Nobody works for the queue ${queue}, so nobody can answer.`, {
      hint:
        localSessionOf(queue) !== undefined
          ? 'It is a local session of another person or machine: `cadre attach` or `cadre worker` there works for it.'
          : `Start a worker: ${workerCommand(queue)}`,
      retryable: true,
    });
  }

  close(): void {
    this.link.close();
  }
}

function placeOf(record: SessionRecord | undefined): { address?: string; namespace?: string } {
  const { address, namespace } = record ?? {};
  return { ...(address === undefined ? {} : { address }), ...(namespace === undefined ? {} : { namespace }) };
}

function without({ key_ids: _, ...record }: SessionRecord): SessionRecord {
  return record;
}
