import type { NativeConnection } from '@temporalio/worker';
import type { Tool } from '../activities/tools/define-tool.ts';
import type { ConnectOptions, McpServers } from '../protocol/index.ts';

/** How long running activities get to end when a worker stops, where nothing else is said. */
export const GRACE_MS = 10_000;

/** What of Temporal's Worker Deployments a worker is: sessions stay with the build that they began on. */
export interface WorkerVersion {
  /** One name for all workers of a queue, whatever their build. */
  deployment: string;
  /** Another one for each change of what the workers run. */
  buildId: string;
}

export interface WorkerOptions extends ConnectOptions {
  connection?: NativeConnection;
  queue: string;
  /** CADRE_HOME: handles and other files of this person. */
  stateDir: string;
  /** Files and folders beside it that no command in a sandbox may change, as they decide what this process, or a later one, runs. */
  readOnly?: readonly string[];
  /** Where the rollouts of sessions that close are written; default: none are. */
  rollouts?: string;
  /** The memory file for sessions that ask for a memory and bring no file of their own; default: they have none. */
  memory?: string;
  /** Where keys are found (`env_key`); default: process.env. Never sent anywhere. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** The host that it is: it also works for the sessions of the queue that live there whole (`hostQueue`). */
  host?: string;
  /**
   * Also makes the model calls to these providers that sessions of the queue hand out (`model_queue`). `perSecond` holds
   * for each provider, and for all workers together: give all of them the same.
   */
  models?: { providers: readonly string[]; perSecond?: number };
  /** false: it makes the model calls of `models`, and does nothing else. */
  agents?: boolean;
  /** A team's own tools, beside the built-in ones. */
  tools?: Tool[];
  /**
   * Servers of tools for every session of the queue; those that sessions bring are left alone then. Default: sessions get
   * what they bring.
   */
  mcpServers?: McpServers;
  /** Default: an unversioned worker, which takes whatever no versioned one is for. */
  version?: WorkerVersion;
  /** Answer queries and take input, but make no model calls and run no tools: for a command that only asks. */
  workflowsOnly?: boolean;
  /** How long running activities get to end when the worker stops, in ms (default 10,000). */
  graceMs?: number;
  /** Told of warnings and errors of the Temporal SDK, a line each. */
  onLog?: (line: string) => void;
  /** Most agents whose state is kept in memory for each queue (default 500); one that is not is replayed when something happens to it. */
  maxCachedWorkflows?: number;
  /** Most conversations kept for model calls (default 2,000); one that is not is read from its agent at each call. */
  maxCachedConversations?: number;
}

/** A worker of one task queue, and of those that go with it: runs from `createWorker` on until `stop`. */
export interface CadreWorker {
  readonly queue: string;
  /** All that it polls. */
  readonly queues: readonly string[];
  /** Settles when the worker has stopped; rejects when it failed. */
  readonly done: Promise<void>;
  /** Drains: running activities get `graceMs` of the options to end, then are cancelled. */
  stop(): Promise<void>;
}
