import { Client, Connection, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { dataConverter } from '../codec/index.ts';
import {
  type AgentId,
  type AgentIdentity,
  type AgentInput,
  agentSettingsSchema,
  CadreError,
  type ConnectOptions,
  DEFAULT_ADDRESS,
  DEFAULT_NAMESPACE,
  type Decision,
  type DecisionAnswer,
  type KeyRing,
  newRootId,
  noteSchema,
  plainText,
  requireServer,
  TASK_SHOWN,
  threadsProblem,
  type WorkerBuild,
  withDialectLimits,
} from '../protocol/index.ts';
import type { Rollouts } from '../rollout/rollouts.ts';
import { AgentHandle } from './agent-handle.ts';
import { checked, checkedContent } from './checked.ts';
import { checkedSession } from './checked-session.ts';
import { decideApproval } from './decide.ts';
import { translate } from './errors.ts';
import { listAgents } from './list.ts';
import { withholdPlainText } from './plain-text.ts';
import { idleBuild, isPolled } from './queue-workers.ts';
import { removeSession } from './remove.ts';
import { exportSession, type SessionRollout } from './rollout.ts';
import { knownSearchAttributes, registerSearchAttributes } from './search-attributes.ts';
import { startRoot } from './start-workflow.ts';
import type { Agent, AgentSummary, ListFilter, StartOptions } from './types.ts';

const CONNECT_MS = 5_000;
/** As the SDK means it to be. gRPC's own 4 MiB are less than a page of a long list, or of a history, may take. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024;

/**
 * Starts agents and talks to them: what a program uses, and what the command line is made of.
 *
 * @example
 * const cadre = await CadreClient.connect({ address: '127.0.0.1:7233' });
 * const agent = cadre.get('a0k3v9x2m4qd7' as AgentId);
 * console.log(await agent.status());
 */
export class CadreClient {
  readonly address: string;
  readonly namespace: string;
  readonly #client: Client;
  readonly #keys: KeyRing | undefined;

  private constructor(client: Client, address: string, namespace: string, keys: KeyRing | undefined) {
    this.#client = client;
    this.#keys = keys;
    this.address = address;
    this.namespace = namespace;
  }

  /** @throws CadreError `temporal_unreachable` when nothing answers at the address within 5 s, or too old a server does */
  static async connect(options: ConnectOptions = {}): Promise<CadreClient> {
    const address = options.address ?? DEFAULT_ADDRESS;
    const namespace = options.namespace ?? DEFAULT_NAMESPACE;
    const connection = await connect(options, address);
    const { encryption } = options;
    const how = { connection, namespace, dataConverter: dataConverter(encryption) };
    const workflow = encryption === undefined ? [withholdPlainText(new Client(how))] : [];
    const client = new Client({ ...how, interceptors: { workflow } });
    return new CadreClient(client, address, namespace, encryption);
  }

  /**
   * Starts a root agent; answers as soon as Temporal has it.
   *
   * @throws CadreError `invalid_arguments` for settings that make no sense, and for an id that was used before
   */
  async start(options: StartOptions): Promise<Agent> {
    const id = options.id ?? newRootId(Date.now(), Math.random);
    checked(agentSettingsSchema, options.settings, 'settings');
    const settings = checked(agentSettingsSchema, withDialectLimits(options.settings), 'settings');
    const problem = threadsProblem(settings.dialect, settings.limits.max_threads);
    if (problem !== undefined) throw new CadreError('invalid_arguments', `settings: ${problem}`);
    const session = await checkedSession(options.session ?? {});
    if (options.session?.search_attributes === undefined) {
      session.search_attributes = await this.knownSearchAttributes();
    }
    session.rollout ??= true;
    const content = checkedContent(options.task, 'task');
    const identity: AgentIdentity = {
      agent_id: id,
      session_id: id,
      depth: 0,
      source: options.source ?? { kind: 'api' },
      started_at: new Date().toISOString(),
      task: plainText(content).slice(0, TASK_SHOWN),
      search_attributes: session.search_attributes,
    };
    const note = checked(noteSchema, options.note ?? '', 'note') || undefined;
    const input: AgentInput = {
      identity,
      settings,
      session,
      input: { id: `${id}#start`, content },
      ...(note === undefined ? {} : { note }),
    };
    try {
      await startRoot(this.#client, options.queue, input);
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) {
        throw new CadreError('invalid_arguments', `There has been an agent ${id} before.`, {
          hint: 'Ids are never reused; leave the id out to get a new one.',
        });
      }
      throw translate(error, id);
    }
    return this.get(id);
  }

  /** The agent of that id; nothing is asked of the server yet. */
  get(id: AgentId): Agent {
    return new AgentHandle(this.#client, id, this.#keys);
  }

  /** Agents as Temporal's visibility store lists them, newest first; needs no worker. */
  async list(filter: ListFilter = {}): Promise<AgentSummary[]> {
    try {
      return await listAgents(this.#client, filter);
    } catch (error) {
      throw translate(error);
    }
  }

  /**
   * Answers a question that an agent has asked a person.
   *
   * @returns what was decided: who has asked, for what, and how far an approval goes
   * @throws CadreError `approval_not_found` for one that is unknown, or was decided
   */
  decide(approvalId: string, decision: Decision, reason?: string): Promise<DecisionAnswer> {
    return decideApproval(this.#client, approvalId, decision, reason);
  }

  /**
   * Removes a closed session for good: its root and all agents below it.
   *
   * @returns the agents that were removed
   * @throws CadreError `not_permitted` while it is open
   */
  remove(id: AgentId): Promise<AgentId[]> {
    return removeSession(this.#client, this.namespace, id);
  }

  /**
   * A session as a rollout: for each of its agents what is needed to show and to resume it.
   *
   * @param rollouts where it is found once Temporal keeps it no longer
   * @throws CadreError `agent_not_found`
   */
  export(id: AgentId, rollouts: Rollouts): Promise<SessionRollout> {
    return exportSession(this.#client, id, rollouts);
  }

  /**
   * Whether a worker has asked for work on the queue within the last five minutes; it may have ended since.
   *
   * @param of `agents`, or the model calls of a queue that is for them alone
   */
  async hasWorkers(queue: string, of: 'agents' | 'models' = 'agents'): Promise<boolean> {
    try {
      return await isPolled(this.#client, queue, of);
    } catch (error) {
      throw translate(error);
    }
  }

  /**
   * Of a queue whose workers are all of a build, while Temporal gives new sessions to none, since no build of their
   * deployment is the current or a ramping one: such a build.
   */
  async idleBuild(queue: string): Promise<WorkerBuild | undefined> {
    try {
      return await idleBuild(this.#client, queue);
    } catch (error) {
      throw translate(error);
    }
  }

  /** Which of Cadre's search attributes the namespace knows; what `session.search_attributes` wants. */
  knownSearchAttributes(): Promise<string[]> {
    return knownSearchAttributes(this.#client.connection as Connection, this.namespace);
  }

  /**
   * Registers the search attributes that are missing, and says which they were.
   *
   * @throws CadreError `not_permitted` when the cluster refuses
   */
  registerSearchAttributes(): Promise<string[]> {
    return registerSearchAttributes(this.#client.connection as Connection, this.namespace);
  }

  async close(): Promise<void> {
    await this.#client.connection.close();
  }
}

/** As `Connection.connect` does it, which asks for the server's information, too, and keeps it to itself. */
function connect({ tls, apiKey }: ConnectOptions, address: string): Promise<Connection> {
  const connection = Connection.lazy({
    address,
    channelArgs: { 'grpc.max_receive_message_length': ANSWER_BYTES_MAX },
    ...(tls === undefined ? {} : { tls }),
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  return requireServer(connection, address, ({ workflowService }) =>
    connection.withDeadline(Date.now() + CONNECT_MS, () => workflowService.getSystemInfo({})),
  );
}
