import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import {
  CadreError,
  hostQueue,
  localQueue,
  newRootId,
  REHEARSAL_NOTICE,
  REHEARSAL_PROVIDER,
  SEARCH_ATTRIBUTES,
} from '../../protocol/index.ts';
import { cadreHome } from '../../server/home.ts';
import { checkRole } from '../check-role.ts';
import { holdOnClosedOutput } from '../closed-output.ts';
import { modelLister } from '../config/list-models.ts';
import type { Flag, LoadedConfig } from '../config/load.ts';
import { chooseModel } from '../config/model.ts';
import { chooseProvider, requireKey } from '../config/provider.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { follow } from '../follow/follow.ts';
import { report } from '../follow/report.ts';
import { requireLines } from '../follow/require-lines.ts';
import type { Invocation } from '../invocation.ts';
import { isAtTerminal } from '../is-at-terminal.ts';
import { docNotices } from '../project-doc-notices.ts';
import { readText } from '../read-text.ts';
import { withLimitsOf } from '../role-limits.ts';
import { startBackgroundWorker } from '../serving/background.ts';
import { Serving } from '../serving/serving.ts';
import { tellIfUnserved } from '../serving/tell-if-unserved.ts';
import { tellNeededKey } from '../serving/tell-needed-key.ts';
import { type AttachedImage, agentSettingsOf, sessionSettingsOf, taskOf } from '../session-settings.ts';
import { workerOptionsOf } from '../worker-options.ts';
import { Workplace } from '../workplace.ts';

export interface RunOptions {
  agent?: string;
  model?: string;
  cwd?: string;
  sandbox?: string;
  approval?: string;
  host?: string;
  image?: string[];
  output?: string;
  outputSchema?: string;
  maxSteps?: number;
  maxTokens?: number;
  timeout?: number;
  detach?: boolean;
  waitAgents: boolean;
  nonInteractive?: boolean;
  stream?: boolean;
}

/** Starts a one-shot root, follows its tree, prints its answer. */
export default async function run(
  invocation: Invocation,
  [text]: [string | undefined],
  options: RunOptions,
): Promise<ExitCode> {
  const startedAt = Date.now();
  const { output, environment } = invocation;
  if (options.stream === true) requireLines(output);
  const cwd = workingFolder(options, invocation.cwd);
  const outputSchema = options.outputSchema === undefined ? undefined : readSchema(options.outputSchema);
  if (options.output !== undefined) checkWritable(resolve(options.output));
  const images = await Promise.all((options.image ?? []).map(imageOf));
  const { config } = await invocation.loadConfig(flagsOf(options), cwd);
  const { task_queue: named } = config.temporal;
  const queued = named === undefined ? undefined : queueOf(named, options.host);
  if (queued === undefined && options.host !== undefined) {
    throw new CadreError('usage', '--host belongs to a session with --queue.', {
      hint: `cadre run --queue NAME --host ${options.host}`,
    });
  }
  const task = await readText(text, 'The task');
  const role = options.agent ?? 'default';
  const provider = chooseProvider(config, environment);
  // What is detached is answered later, by `cadre approve`; what prints JSON cannot ask meanwhile.
  const canAsk = options.detach === true || output.format === 'text';
  const asks = isAtTerminal() && canAsk && options.nonInteractive !== true;
  const isQueued = queued !== undefined;
  // The keys of a queued session are those of its workers.
  if (!isQueued) requireKey(provider, environment);
  if (provider.name === REHEARSAL_PROVIDER) output.warn(REHEARSAL_NOTICE);
  if (!isQueued) await (await import('../sandbox-notice.ts')).tellIfUncontained(output, config.sandbox_mode);
  const listModels = modelLister(environment);
  const model = await chooseModel(config, provider, listModels);
  const id = newRootId(Date.now(), Math.random);
  const { waitAgents } = options;
  const choices = { config, provider, model, role, cwd, environment, outputSchema, waitAgents };
  const settings = {
    ...choices,
    modelNamed: options.model !== undefined,
    oneShot: true,
    nonInteractive: !asks,
  };
  const preset = agentSettingsOf(settings);
  const session = sessionSettingsOf({ ...settings, searchAttributes: [] });
  // A queued one has the roles of its workers.
  const { dialect, project_docs: docs } = isQueued
    ? preset
    : await checkRole(id, preset, session, provider, listModels, cadreHome(environment));
  for (const notice of docs === undefined ? [] : docNotices(docs)) output.warn(notice);
  const sources = invocation.configSources(cwd);
  const flags = [...(sources.flags ?? []), ...flagsOf(options)];
  const root = await withLimitsOf(dialect, settings, { ...sources, flags });
  // Whose output is not read any more before the session is followed is left with it, not without.
  holdOnClosedOutput();
  const place = await Workplace.open(invocation, config);
  const queue = queued ?? localQueue(id);
  let serving: Serving | undefined;
  try {
    await place.files.write({
      session_id: id,
      queue,
      cwd,
      started_at: new Date().toISOString(),
      ...addressOf(config),
      ...place.sealing,
    });
    void place.prune().catch(() => {});
    if (!isQueued && options.detach !== true) {
      serving = new Serving(place.session(id), 'act', place.surroundings);
    }
    const searchAttributes = place.link.hasSearchAttributes
      ? Object.keys(SEARCH_ATTRIBUTES)
      : await place.link.client.knownSearchAttributes();
    await place.link.client
      .start({
        id,
        task: taskOf(task, images),
        queue,
        settings: root,
        session: { ...session, search_attributes: searchAttributes },
        source: { kind: asks ? 'cli' : 'exec' },
      })
      .catch(async (error: unknown) => {
        // A session that never began is not looked for by those who work for all.
        await place.files.remove(id);
        throw error;
      });
    const link = place.link.webAddress(id);
    output.info(`session ${id}${link === undefined ? '' : `  ${link}`}`);
    if (isQueued) tellNeededKey(invocation, place, queue);
    if (options.detach === true) {
      if (isQueued) await tellIfUnserved(invocation, place, id);
      else await startBackgroundWorker(id, place.files, workerOptionsOf(invocation.options)).serving();
      output.result({ session_id: id, ...(link === undefined ? {} : { web: link }) }, id);
      return EXIT.done;
    }
    const followed = await follow(invocation, place, {
      session: id,
      serving,
      timeoutMs: options.timeout,
      workerOptions: workerOptionsOf(invocation.options),
      notifications: config.notifications,
      asks,
      fresh: true,
      stream: options.stream === true,
    });
    const unwritten =
      followed.kind === 'ended' && options.output !== undefined
        ? await writeAnswer(resolve(options.output), followed.result.output)
        : undefined;
    return report(invocation, id, followed, startedAt, unwritten);
  } finally {
    await serving?.stop();
    place.close();
  }
}

function flagsOf(options: RunOptions): Flag[] {
  return [
    { path: ['model'], value: options.model, where: '--model' },
    { path: ['sandbox_mode'], value: options.sandbox, where: '--sandbox' },
    { path: ['approval_policy'], value: options.approval, where: '--approval' },
    { path: ['agents', 'max_steps'], value: options.maxSteps, where: '--max-steps' },
    { path: ['agents', 'max_tokens'], value: options.maxTokens, where: '--max-tokens' },
  ];
}

function addressOf(config: LoadedConfig['config']): { address?: string; namespace?: string } {
  const { address, namespace } = config.temporal;
  return { ...(address === undefined ? {} : { address }), ...(namespace === undefined ? {} : { namespace }) };
}

/** A session that lives on a host has its folder there, which need not be here, too. */
function workingFolder({ cwd, host }: RunOptions, here: string): string {
  return host !== undefined && cwd !== undefined && isAbsolute(cwd) ? cwd : folderOf(resolve(cwd ?? here));
}

function queueOf(queue: string, host: string | undefined): string {
  return host === undefined ? queue : hostQueue(queue, host);
}

function folderOf(path: string): string {
  if (kindOf(path) === 'folder') return path;
  throw new CadreError('usage', `--cwd: ${path} is not a folder.`, { hint: 'Name one that exists.' });
}

/** Found out before the work, not after it. */
function checkWritable(path: string): void {
  const place = kindOf(path) === undefined ? dirname(path) : path;
  try {
    accessSync(place, constants.W_OK);
    if (kindOf(path) !== 'folder') return;
  } catch {
    // Told below.
  }
  throw unwritable(path);
}

/** @returns what to report where it has become impossible meanwhile: the answer is printed all the same */
async function writeAnswer(path: string, answer: string): Promise<CadreError | undefined> {
  try {
    await writeFile(path, `${answer.trimEnd()}\n`);
    return undefined;
  } catch (error) {
    return unwritable(path, error);
  }
}

function unwritable(path: string, cause?: unknown): CadreError {
  return new CadreError('usage', `--output: ${path} cannot be written.`, {
    hint: 'Name a file in a folder that exists and is yours.',
    cause,
  });
}

/** What the model could not be shown is found out before the work, and what it is to be shown is noted. */
async function imageOf(path: string): Promise<AttachedImage> {
  if (/^(https?|data):/i.test(path)) {
    throw new CadreError('usage', `--image takes a file, and ${path.slice(0, 60)} is an address.`, {
      hint: 'Name a PNG, JPEG, GIF or WebP file; an address may stand in the task.',
    });
  }
  const { imageDigest } = await import('../../worker/preflight.ts');
  const whole = resolve(path);
  const found = imageDigest(whole);
  if ('sha256' in found) return { path: whole, ...found };
  throw new CadreError('usage', `--image: ${whole}: ${found.problem}.`, {
    hint: 'Name a PNG, JPEG, GIF or WebP file; the agent reads other files itself when the task names them.',
  });
}

function kindOf(path: string): 'folder' | 'file' | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() ? 'folder' : stats?.isFile() ? 'file' : undefined;
}

function readSchema(path: string): Record<string, unknown> {
  try {
    const schema: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof schema === 'object' && schema !== null && !Array.isArray(schema)) {
      return schema as Record<string, unknown>;
    }
    throw new Error('a JSON schema is an object');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CadreError('usage', `--output-schema ${path}: ${reason}`, {
      hint: 'Name a file with a JSON schema.',
    });
  }
}
