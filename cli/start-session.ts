import { realpathSync, statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import {
  CadreError,
  hostQueue,
  localQueue,
  newRootId,
  REHEARSAL_NOTICE,
  REHEARSAL_PROVIDER,
  SEARCH_ATTRIBUTES,
  type SessionId,
  type Source,
} from '../protocol/index.ts';
import { cadreHome } from '../server/home.ts';
import { leaveWorkplace, openWorkplace } from './at-workplace.ts';
import { checkRole } from './check-role.ts';
import { modelLister } from './config/list-models.ts';
import type { Flag, LoadedConfig } from './config/load.ts';
import { chooseModel } from './config/model.ts';
import { chooseProvider, requireKey } from './config/provider.ts';
import type { Invocation } from './invocation.ts';
import { requireLastingSettings } from './opened-by-shell.ts';
import { docNotices } from './project-doc-notices.ts';
import { withLimitsOf } from './role-limits.ts';
import { Serving } from './serving/serving.ts';
import { tellNeededKey } from './serving/tell-needed-key.ts';
import { type AttachedImage, agentSettingsOf, sessionSettingsOf, taskOf } from './session-settings.ts';
import type { Workplace } from './workplace.ts';

/** A session that somebody asks for: a root that closes by itself when all has settled. */
export interface SessionRequest {
  /** Asked for once it is clear that the session could be started. */
  task(): Promise<string>;
  images?: readonly AttachedImage[];
  /** Default: `default`. */
  agent?: string | undefined;
  /** Default: where the command runs. */
  cwd?: string | undefined;
  /** The host of its queue that it lives on. */
  host?: string | undefined;
  outputSchema?: Record<string, unknown> | undefined;
  waitAgents: boolean;
  /** Settings that are given for this session alone. */
  flags: readonly Flag[];
  source: Exclude<Source, { kind: 'sub_agent' }>;
  /** What needs an approval is refused, since nobody can be asked. */
  nonInteractive: boolean;
  /** Told when all is found good, and the work begins. */
  begins?(): void;
  /** Whether this process works for it, where it is local. */
  served: boolean;
}

export interface StartedSession {
  id: SessionId;
  place: Workplace;
  config: LoadedConfig['config'];
  /** Undefined for a queued session, and for one that this process does not work for. */
  serving: Serving | undefined;
  isQueued: boolean;
  /** Where it is seen in the Temporal Web UI. */
  web: string | undefined;
}

/**
 * Starts a session on the queue that the configuration names, else as a local one. Whoever calls stops `serving` and
 * leaves the workplace.
 *
 * @throws CadreError for whatever can be found out before it begins: settings, role, model, key, server
 */
export async function startSession(invocation: Invocation, request: SessionRequest): Promise<StartedSession> {
  const { output, environment } = invocation;
  const { host, outputSchema, waitAgents, nonInteractive } = request;
  const cwd = workingFolder(request, invocation.cwd);
  const { config } = await invocation.loadConfig(request.flags, cwd);
  const { task_queue: named } = config.temporal;
  const queued = named === undefined ? undefined : queueOf(named, host);
  if (queued === undefined && host !== undefined) {
    throw new CadreError('usage', '--host belongs to a session with --queue.', {
      hint: `cadre run --queue NAME --host ${host}`,
    });
  }
  if (queued === undefined && !request.served) requireLastingSettings(environment);
  const task = await request.task();
  const role = request.agent ?? 'default';
  const provider = chooseProvider(config, environment);
  const isQueued = queued !== undefined;
  // The keys of a queued session are those of its workers.
  if (!isQueued) requireKey(provider, environment);
  if (provider.name === REHEARSAL_PROVIDER) output.warn(REHEARSAL_NOTICE);
  if (!isQueued) await (await import('./sandbox-notice.ts')).tellIfUncontained(output, config.sandbox_mode);
  const listModels = modelLister(environment);
  const model = await chooseModel(config, provider, listModels);
  const id = newRootId(Date.now(), Math.random);
  const choices = { config, provider, model, role, cwd, environment, outputSchema, waitAgents };
  const modelNamed = request.flags.some(({ path, value }) => path[0] === 'model' && value !== undefined);
  const settings = { ...choices, modelNamed, oneShot: true, nonInteractive };
  const preset = agentSettingsOf(settings);
  const session = sessionSettingsOf({ ...settings, searchAttributes: [] });
  // A queued one has the roles of its workers.
  const { dialect, project_docs: docs } = isQueued
    ? preset
    : await checkRole(id, preset, session, provider, listModels, cadreHome(environment));
  for (const notice of docs === undefined ? [] : docNotices(docs)) output.warn(notice);
  const sources = invocation.configSources(cwd);
  const flags = [...(sources.flags ?? []), ...request.flags];
  const root = await withLimitsOf(dialect, settings, { ...sources, flags });
  request.begins?.();
  const place = await openWorkplace(invocation, config);
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
    if (!isQueued && request.served) {
      serving = new Serving(place.session(id), 'act', place.surroundings);
    }
    const searchAttributes = place.link.hasSearchAttributes
      ? Object.keys(SEARCH_ATTRIBUTES)
      : await place.link.client.knownSearchAttributes();
    await place.link.client
      .start({
        id,
        task: taskOf(task, request.images ?? []),
        queue,
        settings: root,
        session: { ...session, search_attributes: searchAttributes },
        source: request.source,
      })
      .catch(async (error: unknown) => {
        // A session that never began is not looked for by those who work for all.
        await place.files.remove(id);
        throw error;
      });
    const web = place.link.webAddress(id);
    output.info(`session ${id}${web === undefined ? '' : `  ${web}`}`);
    if (isQueued) tellNeededKey(invocation, place, queue);
    return { id, place, config, serving, isQueued, web };
  } catch (error) {
    await serving?.stop();
    leaveWorkplace(invocation, place);
    throw error;
  }
}

function addressOf(config: LoadedConfig['config']): { address?: string; namespace?: string } {
  const { address, namespace } = config.temporal;
  return { ...(address === undefined ? {} : { address }), ...(namespace === undefined ? {} : { namespace }) };
}

/** A session that lives on a host has its folder there, which need not be here, too. */
function workingFolder({ cwd, host }: SessionRequest, here: string): string {
  return host !== undefined && cwd !== undefined && isAbsolute(cwd) ? cwd : folderOf(resolve(cwd ?? here));
}

function queueOf(queue: string, host: string | undefined): string {
  return host === undefined ? queue : hostQueue(queue, host);
}

/** @throws CadreError `usage` */
function folderOf(path: string): string {
  // Links resolved now, and not later, when a command can have put others there.
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return realpathSync(path);
  throw new CadreError('usage', `The working directory ${path} is not a folder.`, {
    hint: 'Name one that exists.',
  });
}
