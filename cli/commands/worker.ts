import { isMissing } from '../../client/is-missing.ts';
import { CadreError, currentBuildCommand, type SessionId } from '../../protocol/index.ts';
import type { Tool, WorkerVersion } from '../../worker/index.ts';
import { replacedBy, toolAtFault } from '../../worker/own-tools.ts';
import { GRACE_MS } from '../../worker/types.ts';
import { holdOnClosedOutput } from '../closed-output.ts';
import { serversIn, sessionPlace } from '../config/mcp-servers.ts';
import { memoryFile } from '../config/memory.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { onSignals } from '../follow/signals.ts';
import type { Invocation } from '../invocation.ts';
import { loadTools } from '../load-tools.ts';
import type { Output } from '../output.ts';
import { ownPlaces } from '../own-places.ts';
import { nothingRuns } from '../serving/nothing-runs.ts';
import { serveAllSessions } from '../serving/serve-all.ts';
import { Serving } from '../serving/serving.ts';
import { containUncaught } from '../uncaught.ts';
import { type Duties, type DutyOptions, dutiesOf } from '../worker-duties.ts';
import { Workplace } from '../workplace.ts';

interface WorkerCommandOptions extends DutyOptions {
  tools?: string;
  /** In ms. */
  grace?: number;
  deployment?: string;
  buildId?: string;
  session?: SessionId;
}

/** Works for a named queue, for one local session, or for all local sessions, until it is told to stop. */
export default async function worker(
  invocation: Invocation,
  _args: [],
  options: WorkerCommandOptions,
): Promise<ExitCode> {
  const { config } = await invocation.loadConfig();
  const { task_queue: named } = config.temporal;
  const version = versionOf(options, named);
  const duties = dutiesOf(options, named);
  const toolFiles: string[] = [];
  const tools =
    options.tools === undefined
      ? []
      : await toolsFor(options.tools, named, (path) => void toolFiles.push(path));
  if (tools.length > 0) containUncaught((error) => isOfTool(error, invocation.output));
  const place = await Workplace.open(invocation, config);
  const stop = new AbortController();
  const undo = onSignals(() => stop.abort());
  // It ends as by a signal, so that what runs may finish.
  const closed = holdOnClosedOutput();
  if (closed.aborted) stop.abort();
  else closed.addEventListener('abort', () => stop.abort(), { once: true });
  try {
    if (options.session !== undefined) await serveSession(place, options.session, stop.signal);
    else if (named !== undefined) {
      const graceMs = options.grace ?? GRACE_MS;
      await serveQueue(
        invocation,
        place,
        { queue: named, tools, toolFiles, graceMs, ...version, ...duties },
        stop.signal,
      );
    } else await serveAllSessions(invocation, place, stop.signal);
    return EXIT.done;
  } finally {
    undo();
    place.close();
  }
}

async function serveSession(place: Workplace, session: SessionId, signal: AbortSignal): Promise<void> {
  await place.files.prepare();
  const serving = new Serving(place.session(session), 'act', place.surroundings);
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  try {
    await Promise.race([untilNothingRuns(place, session, signal), serving.failed, stopped]);
  } finally {
    await serving.stop();
  }
}

const LOOK_MS = 1_000;

async function untilNothingRuns(place: Workplace, session: SessionId, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (await nothingRuns(place, session).catch(isMissing)) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

interface ServeOptions {
  queue: string;
  tools: Tool[];
  /** What was loaded for those. */
  toolFiles: readonly string[];
  graceMs: number;
  version?: WorkerVersion;
}

async function serveQueue(
  { output, cwd, environment }: Invocation,
  place: Workplace,
  { toolFiles, ...options }: ServeOptions & Duties,
  signal: AbortSignal,
): Promise<void> {
  const { graceMs, version } = options;
  const { createWorker } = await import('../../worker/create-worker.ts');
  const surroundings = sessionPlace(cwd, place.workerEnvironment, place.config);
  const serving = await createWorker({
    ...place.link.connectOptions,
    ...options,
    stateDir: place.home,
    readOnly: ownPlaces(environment, place.config, toolFiles),
    environment: place.workerEnvironment,
    mcpServers: serversIn(surroundings, place.config.mcp_servers),
    ...rolloutsOf(place),
    ...memoryOf(place),
    onLog: (line) => output.warn(line),
  });
  const { queues } = serving;
  const what = `the queue${queues.length === 1 ? '' : 's'} ${queues.join(', ')}`;
  output.info(`Working for ${what} at ${place.link.client.address}; Ctrl-C stops it.`);
  if (options.tools.length > 0) {
    const replaced = replacedBy(options.tools);
    const instead = replaced.length === 0 ? '' : `, in place of Cadre's own ${replaced.join(', ')}`;
    output.info(`Tools of your own: ${options.tools.map(({ name }) => name).join(', ')}${instead}.`);
  }
  if (version !== undefined) {
    const { deployment, buildId } = version;
    output.info(
      `It is build ${buildId} of ${deployment}. New sessions come to it once it is the current one: ${currentBuildCommand({ deployment, build: buildId })}`,
    );
  }
  void tellMissingKeys(output, place, queues).catch(() => {});
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  await Promise.race([stopped, serving.done]);
  output.info(`Stopping: what runs gets ${graceMs / 1_000} s to finish.`);
  await serving.stop();
}

/** What one tool leaves behind does not end the worker of all agents, where it is told from what else goes wrong. */
function isOfTool(error: unknown, output: Output): boolean {
  const reason = error instanceof Error ? error.message : String(error);
  const tool = toolAtFault();
  if (tool === undefined) {
    output.warn(
      'The worker ends of an error that nobody caught; it may come from your tools. Have it started again: of calls with effects that were under way the models are told that the outcome is unknown.',
    );
    return false;
  }
  output.warn(
    `${tool} has left an error behind that nobody caught: ${reason}. The worker goes on; the author of the tool has to await it, or catch it.`,
  );
  return true;
}

/** @throws CadreError `usage` without a queue: a local session is also served by the command that starts it, without them */
async function toolsFor(
  file: string,
  queue: string | undefined,
  onFile: (path: string) => void,
): Promise<Tool[]> {
  if (queue !== undefined) return loadTools(file, undefined, onFile);
  throw new CadreError(
    'usage',
    '--tools belongs to a worker with --queue: local sessions have no tools of your own.',
    {
      hint: `cadre worker --queue NAME --tools ${file}, and start sessions with cadre run --queue NAME`,
    },
  );
}

/** @throws CadreError `usage` for half a version, and for one without a queue: whoever serves local sessions has none */
function versionOf(
  { deployment, buildId }: WorkerCommandOptions,
  queue: string | undefined,
): { version?: WorkerVersion } {
  if (deployment === undefined && buildId === undefined) return {};
  if (deployment === undefined || buildId === undefined || queue === undefined) {
    throw new CadreError(
      'usage',
      '--deployment and --build-id belong together, and to a worker with --queue.',
      {
        hint: 'cadre worker --queue NAME --deployment NAME --build-id ID',
      },
    );
  }
  return { version: { deployment, buildId } };
}

/** Where this worker leaves the rollouts of its queue's sessions. */
function rolloutsOf({ config: { rollouts } }: Workplace): { rollouts?: string } {
  const { enabled, directory } = rollouts;
  return enabled && directory !== undefined ? { rollouts: directory } : {};
}

/** The memory of those of its queue's sessions that ask for one. */
function memoryOf({ config, home }: Workplace): { memory?: string } {
  const memory = memoryFile(config, home);
  return memory === undefined ? {} : { memory };
}

/** So many of the newest open agents are looked at. */
const LOOKED_AT = 200;

/** Agents of the queue that this worker cannot work for: they wait for one that has the key. */
async function tellMissingKeys(output: Output, place: Workplace, queues: readonly string[]): Promise<void> {
  const agents = await place.link.client.list({ limit: LOOKED_AT });
  const sealed = agents.filter((agent) => queues.includes(agent.queue) && agent.missing_key !== undefined);
  const [first] = sealed;
  if (first === undefined) return;
  const keys = [...new Set(sealed.map((agent) => agent.missing_key))].join(', ');
  output.warn(
    `${sealed.length} open agents of ${first.queue}, such as ${first.agent_id}, are sealed with keys that are not here (${keys}): they wait for a worker that has them. Add them to what [encryption] of the configuration names.`,
  );
}
