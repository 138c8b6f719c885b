import { Client } from '@temporalio/client';
import {
  DefaultLogger,
  NativeConnection,
  Runtime,
  type WorkerOptions as SdkWorkerOptions,
  Worker,
} from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import { dataConverter } from '../codec/index.ts';
import { CadreError, type ConnectOptions } from '../protocol/index.ts';
import { Rollouts } from '../rollout/rollouts.ts';
import { readAgentSettings, readSession } from './session-query.ts';
import { Sweeper } from './sweeper.ts';
import type { CadreWorker, WorkerOptions, WorkerVersion } from './types.ts';
import { workflowCode } from './workflow-code.ts';

const DEFAULT_ADDRESS = '127.0.0.1:7233';
/** Heartbeats carry the news of an interrupt, so they must not be held back: with the defaults it took seven seconds. */
const HEARTBEAT_THROTTLE = '200 milliseconds';
const GRACE_MS = 10_000;
/** After grace and cancellation, this long until the worker is given up. */
const FORCE_MS = 5_000;

/**
 * Workflow tasks run one after the other in one thread. What a worker takes beyond a few of them only stands in line
 * there, and a question to an agent stands behind it: with the SDK's 40, the tree of a busy session took seconds.
 */
const WORKFLOW_TASKS = 8;
const WORKFLOW_POLLS = 4;

type Log = (line: string) => void;
/** Where the one runtime of this process logs to; undefined before it is installed. */
let log: Log | undefined;

/** Cadre owns the signals of its processes: the SDK would stop the worker that has to process an interrupt. */
function installRuntime(to: Log): void {
  const installed = log !== undefined;
  log = to;
  if (installed) return;
  Runtime.install({
    shutdownSignals: [],
    // What goes wrong for an agent is told by its events and errors; this is for whoever looks into the SDK.
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      const error = meta?.error instanceof Error ? `: ${meta.error.message}` : '';
      log?.(`${level} ${message}${error}`);
    }),
    telemetryOptions: { logging: { forward: {}, filter: 'WARN' } },
  });
}

/**
 * Starts a worker that runs agents, their model calls and their tools on one task queue.
 *
 * @throws CadreError `temporal_unreachable` when nothing answers at the address, `config_invalid` when there is no such
 * namespace
 */
export async function createWorker(options: WorkerOptions): Promise<CadreWorker> {
  installRuntime(options.onLog ?? (() => {}));
  const { namespace = 'default', graceMs = GRACE_MS } = options;
  const connection = options.connection ?? (await connect(options));
  const client = new Client({ connection, namespace, dataConverter: dataConverter(options.encryption) });
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: options.queue,
    ...workflowCode(options.encryption !== undefined),
    ...(options.workflowsOnly === true ? {} : { activities: activities(options, client) }),
    ...versioning(options.version),
    dataConverter: dataConverter(options.encryption),
    maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
    defaultHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
    shutdownGraceTime: graceMs,
    shutdownForceTime: graceMs + FORCE_MS,
    maxConcurrentWorkflowTaskExecutions: WORKFLOW_TASKS,
    maxConcurrentWorkflowTaskPolls: WORKFLOW_POLLS,
    maxCachedWorkflows: options.maxCachedWorkflows ?? 500,
  }).catch(async (error: unknown) => {
    if (options.connection === undefined) await connection.close();
    throw translated(error, namespace);
  });
  const { queue } = options;
  const stopped = new AbortController();
  const sweeper = new Sweeper({ client, queue, log: (line) => options.onLog?.(`WARN ${line}`) });
  // Who only answers does not work for the queue.
  const sweeping = options.workflowsOnly === true ? undefined : sweeper.run(stopped.signal);
  const done = worker.run().finally(async () => {
    stopped.abort();
    await sweeping;
    if (options.connection === undefined) await connection.close();
  });
  return {
    queue,
    done,
    async stop() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await done;
    },
  };
}

/** Pinned: code that asks for other things than before never meets a history that it has not written. */
function versioning(version: WorkerVersion | undefined): Pick<SdkWorkerOptions, 'workerDeploymentOptions'> {
  if (version === undefined) return {};
  const { deployment: deploymentName, buildId } = version;
  return {
    workerDeploymentOptions: {
      useWorkerVersioning: true,
      version: { deploymentName, buildId },
      defaultVersioningBehavior: 'PINNED',
    },
  };
}

function activities(options: WorkerOptions, client: Client) {
  return createActivities({
    client,
    readSession: readSession(client),
    readAgentSettings: readAgentSettings(client),
    environment: options.environment ?? process.env,
    stateDir: options.stateDir,
    rollouts: new Rollouts({
      stateDir: options.stateDir,
      directory: options.rollouts,
      keys: options.encryption,
    }),
    writesRollouts: options.rollouts !== undefined,
    tools: options.tools ?? [],
    maxCachedConversations: options.maxCachedConversations,
  });
}

/** The SDK asks for the namespace first, and gives whatever it hears in a text of its own. */
function translated(error: unknown, namespace: string): unknown {
  const notFound = error instanceof Error && /namespace .*not found/i.test(error.message);
  if (!notFound) return error;
  return new CadreError('config_invalid', `Temporal: Namespace ${namespace} is not found.`, {
    hint: 'Check --namespace, TEMPORAL_NAMESPACE and temporal.namespace of the configuration.',
    cause: error,
  });
}

async function connect(options: ConnectOptions): Promise<NativeConnection> {
  const address = options.address ?? DEFAULT_ADDRESS;
  try {
    return await NativeConnection.connect({
      address,
      ...(options.tls === undefined ? {} : { tls: options.tls }),
      ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
    });
  } catch (error) {
    throw new CadreError('temporal_unreachable', `No Temporal server answers at ${address}.`, {
      hint: 'Check the address (--address, TEMPORAL_ADDRESS), or leave it out to use the embedded server.',
      retryable: true,
      cause: error,
    });
  }
}
