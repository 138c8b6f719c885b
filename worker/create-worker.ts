import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import {
  DefaultLogger,
  type LogMetadata,
  NativeConnection,
  Runtime,
  type WorkerOptions as SdkWorkerOptions,
  Worker,
} from '@temporalio/worker';
import { CommandSessions } from '../activities/commands/command-sessions.ts';
import { createActivities } from '../activities/index.ts';
import { McpPool } from '../activities/mcp/pool.ts';
import { settlePatches } from '../activities/patch/settle-patches.ts';
import { dataConverter } from '../codec/index.ts';
import {
  CadreError,
  type ConnectOptions,
  DEFAULT_ADDRESS,
  DEFAULT_NAMESPACE,
  explain,
  hostQueue,
  localSessionOf,
  mcpServersSchema,
  modelQueue,
  nobodyAt,
  noNamespace,
  ownQueue,
  requireServer,
} from '../protocol/index.ts';
import { Rollouts } from '../rollout/rollouts.ts';
import { keepCommands } from './command-keeper.ts';
import { checkTools } from './own-tools.ts';
import { runTogether } from './run-together.ts';
import { readAgentSettings, readSession } from './session-query.ts';
import { Sweeper } from './sweeper.ts';
import { startTracing, type Tracing } from './tracing/tracing.ts';
import { type CadreWorker, GRACE_MS, type WorkerOptions, type WorkerVersion } from './types.ts';
import { UNBROKEN, workflowCode } from './workflow-code.ts';

/** Heartbeats carry the news of an interrupt, so they must not be held back: with the defaults it took seven seconds. */
const HEARTBEAT_THROTTLE = '200 milliseconds';
/** After grace and cancellation, this long until the worker is given up. */
const FORCE_MS = 5_000;

/**
 * Workflow tasks run one after the other in one thread. What a worker takes beyond a few of them only stands in line
 * there, and a question to an agent stands behind it: with the SDK's 40, the tree of a busy session took seconds.
 */
const WORKFLOW_TASKS = 8;
const WORKFLOW_POLLS = 4;

/** What the SDK warns of where a queue is for model calls alone. */
const NO_AGENTS = 'No workflows registered';

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
      if (message.startsWith(NO_AGENTS)) return;
      const error = meta?.error instanceof Error ? `: ${meta.error.message}` : taskFailure(meta);
      log?.(`${level} ${message}${error}`);
    }),
    telemetryOptions: { logging: { forward: {}, filter: 'WARN' } },
  });
}

/** Of a workflow task that fails, the SDK's core gives the run and the failure, the latter as its debugger shows it. */
function taskFailure(meta: LogMetadata | undefined): string {
  const { failure, runId } = meta ?? {};
  const [, text] = typeof failure === 'string' ? (failure.match(/message: "((?:[^"\\]|\\.)*)"/) ?? []) : [];
  return text === undefined ? '' : ` (run ${runId}): ${text}`;
}

/**
 * Starts a worker that runs agents, their model calls and their tools on one task queue, and on those that go with it.
 *
 * @throws CadreError `temporal_unreachable` when nothing answers at the address, `config_invalid` when there is no such
 * namespace and for tools or servers of tools that cannot be used, `invalid_arguments` for what is no name of a host
 */
export async function createWorker(options: WorkerOptions): Promise<CadreWorker> {
  installRuntime(options.onLog ?? (() => {}));
  const { namespace = DEFAULT_NAMESPACE, queue, agents = true, workflowsOnly = false } = options;
  const { host, models = { providers: [] } } = options;
  const agentQueues = [queue, ...(host === undefined ? [] : [hostQueue(queue, host)])];
  requireUsable(options);
  if (!agents && models.providers.length === 0) {
    throw new CadreError(
      'invalid_arguments',
      'A worker without agents has to name the providers of its models.',
    );
  }
  const modelQueues = models.providers.map((provider) => modelQueue(queue, provider));
  const connection = options.connection ?? (await connect(options));
  const client = new Client({ connection, namespace, dataConverter: dataConverter(options.encryption) });
  // One set for all queues: what one call has read, the next one knows, wherever it comes from.
  const tracing = await startTracing(process.env, (line) => options.onLog?.(line));
  const mcp = new McpPool({
    servers: options.mcpServers,
    environment: options.environment ?? process.env,
  });
  const commands = new CommandSessions();
  // One that works for a local session is the only one that does.
  const own = localSessionOf(queue) === undefined ? ownQueue(queue, randomUUID()) : undefined;
  const all = activities(options, client, tracing, { mcp, commands, ownQueue: own });
  const usual = { connection, namespace, ...usualOptions(options), ...tracing.options };
  const polled: SdkWorkerOptions[] = [
    ...(agents ? agentQueues : []).map((taskQueue) => ({
      ...usual,
      ...agentOptions(options),
      ...(workflowsOnly ? {} : { activities: all }),
      taskQueue,
    })),
    ...modelQueues.map((taskQueue) => ({
      ...usual,
      ...rateOf(models),
      activities: { model: all.model },
      taskQueue,
    })),
  ];
  // Who only answers, or asks models, does not work for the queue.
  const works = agents && !workflowsOnly;
  const alone: SdkWorkerOptions[] =
    own === undefined || !works ? [] : [{ ...usual, activities: heldHere(all), taskQueue: own }];
  const workers = await createAll([...polled, ...alone]).catch(async (error: unknown) => {
    await tracing.stop();
    if (options.connection === undefined) await connection.close();
    throw translated(error, namespace);
  });
  if (works) tellSettled(options);
  const stopped = new AbortController();
  const sweeper = new Sweeper({ client, queue, log: (line) => options.onLog?.(`WARN ${line}`) });
  const sweeping = works ? sweeper.run(stopped.signal) : undefined;
  const keeping = works
    ? keepCommands(client, commands, stopped.signal, (line) => options.onLog?.(line))
    : undefined;
  const together = runTogether(workers);
  const done = together.done.finally(async () => {
    stopped.abort();
    await mcp.close();
    await commands.close();
    await sweeping;
    await keeping;
    await tracing.stop();
    if (options.connection === undefined) await connection.close();
  });
  return {
    queue,
    queues: polled.map(({ taskQueue }) => taskQueue),
    done,
    async stop() {
      together.stop();
      await done;
    },
  };
}

/** What is wrong with what a program gives, before anything is opened that it would have to close. */
function requireUsable({ tools = [], mcpServers }: WorkerOptions): void {
  checkTools(tools);
  const { error } = mcpServersSchema.optional().safeParse(mcpServers);
  if (error === undefined) return;
  throw new CadreError('config_invalid', `mcpServers: ${explain(error)}`, {
    hint: 'docs/mcp.md says what each key of a server means.',
  });
}

/** A person may look at the files before any tool does. */
function tellSettled({ stateDir, onLog }: WorkerOptions): void {
  settlePatches(stateDir).then(
    (lines) => lines.forEach((line) => void onLog?.(line)),
    (error: unknown) => onLog?.(`WARN patches that were cut off could not be looked for: ${String(error)}`),
  );
}

/** What has to reach the worker that holds a command. */
function heldHere(all: object): object {
  const names = ['write_stdin', 'end_commands'];
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
}

/** What holds for every queue. */
function usualOptions({ graceMs = GRACE_MS, encryption, version }: WorkerOptions) {
  return {
    ...versioning(version),
    dataConverter: dataConverter(encryption),
    maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
    defaultHeartbeatThrottleInterval: HEARTBEAT_THROTTLE,
    shutdownGraceTime: graceMs,
    shutdownForceTime: graceMs + FORCE_MS,
  } satisfies Partial<SdkWorkerOptions>;
}

function agentOptions({ encryption, maxCachedWorkflows = 500 }: WorkerOptions) {
  return {
    ...workflowCode(encryption !== undefined),
    ...UNBROKEN,
    maxConcurrentWorkflowTaskExecutions: WORKFLOW_TASKS,
    maxConcurrentWorkflowTaskPolls: WORKFLOW_POLLS,
    maxCachedWorkflows,
  } satisfies Partial<SdkWorkerOptions>;
}

function rateOf({ perSecond }: NonNullable<WorkerOptions['models']>) {
  return perSecond === undefined ? {} : { maxTaskQueueActivitiesPerSecond: perSecond };
}

/** All of them or none: one that was made and never ran would hold the connection. */
async function createAll(polled: readonly SdkWorkerOptions[]): Promise<Worker[]> {
  const workers: Worker[] = [];
  try {
    for (const each of polled) workers.push(await Worker.create(each));
    return workers;
  } catch (error) {
    const unused = runTogether(workers);
    unused.stop();
    await unused.done.catch(() => {});
    throw error;
  }
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

function activities(
  options: WorkerOptions,
  client: Client,
  { watcher }: Tracing,
  held: { mcp: McpPool; commands: CommandSessions; ownQueue: string | undefined },
) {
  return createActivities({
    client,
    readSession: readSession(client),
    readAgentSettings: readAgentSettings(client),
    environment: options.environment ?? process.env,
    stateDir: options.stateDir,
    readOnly: options.readOnly,
    rollouts: new Rollouts({
      stateDir: options.stateDir,
      directory: options.rollouts,
      keys: options.encryption,
    }),
    writesRollouts: options.rollouts !== undefined,
    memory: options.memory,
    tools: options.tools ?? [],
    maxCachedConversations: options.maxCachedConversations,
    watcher,
    ...held,
  });
}

/** The SDK asks for the namespace first, and gives whatever it hears in a text of its own. */
function translated(error: unknown, namespace: string): unknown {
  const notFound = error instanceof Error && /namespace .*not found/i.test(error.message);
  if (!notFound) return error;
  return noNamespace(`Namespace ${namespace} is not found.`, error);
}

async function connect(options: ConnectOptions): Promise<NativeConnection> {
  const address = options.address ?? DEFAULT_ADDRESS;
  const connection = await NativeConnection.connect({
    address,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
  }).catch((error: unknown) => {
    throw nobodyAt(address, error);
  });
  return requireServer(connection, address, ({ workflowService }) => workflowService.getSystemInfo({}));
}
