import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { dataConverter } from '../../codec/index.ts';
import {
  type AgentInput,
  agentSettingsSchema,
  type Limits,
  newRootId,
  type SessionId,
  type SessionSettings,
  sessionSettingsSchema,
  textMessage,
} from '../../protocol/index.ts';
import type { Rollouts } from '../../rollout/rollouts.ts';
import type { Connections } from './connect.ts';
import type { Script } from './script.ts';
import { type Play, type Plays, scriptedActivities } from './scripted-activities.ts';
import { ScriptedSession } from './scripted-session.ts';
import { type Bundle, workflowBundle } from './test-bundle.ts';

export interface StartOptions {
  script: Script;
  tools?: Play['tools'];
  /** What roles change in what they inherit. */
  roles?: Play['roles'];
  beforeRole?: Play['beforeRole'];
  /** The server ends no agent of this session. */
  endless?: boolean;
  /** Where its rollout is found, and written when it closes if `session.rollout` says so. */
  rollouts?: Rollouts;
  beforeRollout?: Play['beforeRollout'];
  task?: string;
  /** Of the root. */
  role?: string;
  /** Those that the namespace is said to know; default: none. */
  search_attributes?: string[];
  session?: Partial<SessionSettings>;
  limits?: Partial<Limits>;
  sandbox?: { writable_roots: string[] };
}

export interface WorkerChoices {
  maxCachedWorkflows?: number;
  /** Workflows that somebody has changed. */
  workflowBundle?: Bundle;
}

/** The real agent workflow on a task queue of its own; its models and tools are played, session by session. */
export class ScriptedWorker {
  readonly queue = `test-${randomUUID()}`;
  readonly client: Client;
  readonly #connections: Connections;
  readonly #choices: WorkerChoices;
  readonly #plays: Plays = new Map();
  #stop: (() => Promise<void>) | undefined;

  constructor(connections: Connections, choices: WorkerChoices = {}) {
    this.#connections = connections;
    this.#choices = choices;
    this.client = new Client({ connection: connections.client, dataConverter: dataConverter() });
  }

  async run(): Promise<void> {
    const worker = await Worker.create({
      connection: this.#connections.native,
      taskQueue: this.queue,
      workflowBundle: await workflowBundle(),
      maxHeartbeatThrottleInterval: 200,
      defaultHeartbeatThrottleInterval: 200,
      dataConverter: dataConverter(),
      sinks: { cadre: { turnEnded: { fn() {} }, operationEnded: { fn() {} } } },
      ...this.#choices,
      activities: scriptedActivities(this.#plays, this.client),
    });
    const running = worker.run();
    this.#stop = async () => {
      worker.shutdown();
      await running;
    };
  }

  async stop(): Promise<void> {
    await this.#stop?.();
    this.#stop = undefined;
  }

  async start(options: StartOptions): Promise<ScriptedSession> {
    const {
      script,
      tools = {},
      roles = {},
      beforeRole = () => {},
      endless = false,
      task = 'the task',
      role = 'default',
    } = options;
    const id = newRootId(Date.now(), Math.random);
    const play: Play = {
      script,
      tools,
      roles,
      beforeRole,
      endless,
      rollouts: options.rollouts,
      beforeRollout: options.beforeRollout ?? (() => {}),
      conversations: new Map(),
      outputs: new Map(),
      stored: [],
      asked: [],
      followed: 0,
      pasts: new Map(),
    };
    this.#plays.set(id, play);
    const input: AgentInput = {
      identity: {
        agent_id: id,
        session_id: id,
        depth: 0,
        source: { kind: 'api' },
        task,
        search_attributes: options.search_attributes ?? [],
      },
      settings: agentSettingsSchema.parse({
        role,
        model: 'scripted',
        provider: 'script',
        working_directory: '/tmp',
        limits: options.limits ?? {},
        sandbox: options.sandbox,
        model_retry_ms: 2_000,
      }),
      session: sessionSettingsSchema.parse(options.session ?? {}),
      input: { id: `${id}#start`, content: textMessage(task).content },
    };
    await this.client.workflow.start('agent', { workflowId: id, taskQueue: this.queue, args: [input] });
    return new ScriptedSession(this.client, id, play);
  }

  /** Plays another session with the script of one that is there: its fork. */
  playAs(id: SessionId, other: SessionId): void {
    const play = this.#plays.get(other);
    if (play !== undefined) this.#plays.set(id, { ...play, conversations: new Map() });
  }

  /** A session of which something was deleted has no histories to look at. */
  forget(id: SessionId): void {
    this.#plays.delete(id);
  }

  /** The histories of all runs of an agent, the newest first. */
  async runs(workflowId: string): Promise<Run[]> {
    const runs: Run[] = [];
    for (let runId: string | undefined; ; ) {
      const history = await this.client.workflow.getHandle(workflowId, runId).fetchHistory();
      runs.push({ workflowId, history });
      runId =
        history.events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
      if (runId === undefined) return runs;
    }
  }

  /** All runs of every agent that has asked its model. */
  async histories(): Promise<Run[]> {
    const agents = [...this.#plays.values()].flatMap((play) => [...play.conversations.keys()]);
    return (await Promise.all(agents.map((agent) => this.runs(agent)))).flat();
  }
}

interface Run {
  workflowId: string;
  history: temporal.api.history.v1.IHistory;
}
