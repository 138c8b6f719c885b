import { CadreError } from './errors.ts';
import type { SessionId } from './ids.ts';

/**
 * Names of task queues. A queue `Q` is served by workers that are alike. `Q@HOST` is what those of them poll that run on
 * one host: for sessions that live there whole. `Q.models/PROVIDER` takes the model calls of both, where a session hands
 * them out, so that a provider is asked no more often than it bears, by however many workers. `Q.commands/WORKER` is polled
 * by one worker alone: for commands that it holds.
 */
const HOST = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/;
const OF_HOST = /^(.+)@([^@]*)$/;
const OF_MODELS = /^(.+)\.models\/(.+)$/;

const LOCAL = 'cadre-local/';

/** The queue of a local session: polled by whoever works for it, and by nobody else. */
export function localQueue(session: SessionId): string {
  return `${LOCAL}${session}`;
}

/** The local session whose queue that is; undefined for one that has a name of its own. */
export function localSessionOf(queue: string): SessionId | undefined {
  return queue.startsWith(LOCAL) ? (queue.slice(LOCAL.length) as SessionId) : undefined;
}

/**
 * The queue of the sessions of `queue` that live on one host.
 *
 * @throws CadreError `invalid_arguments` for what is no name of a host, and for a queue that is that of a host already
 */
export function hostQueue(queue: string, host: string): string {
  if (!HOST.test(host)) {
    throw new CadreError('invalid_arguments', `${JSON.stringify(host)} is no name of a host.`, {
      hint: 'Letters, digits, dots, - and _; it begins and ends with a letter or digit, and has 253 of them at most.',
    });
  }
  const { base, host: named } = partsOf(queue);
  if (named !== undefined) {
    throw new CadreError('invalid_arguments', `The queue ${queue} is that of the host ${named} already.`, {
      hint: `Name the queue alone: ${base}`,
    });
  }
  return `${queue}@${host}`;
}

/** The queue of the model calls to a provider, for all sessions of `queue`, also those that live on a host. */
export function modelQueue(queue: string, provider: string): string {
  return `${partsOf(queue).base}.models/${provider}`;
}

/** What one worker of a queue polls alone: calls for commands that it holds. */
export function ownQueue(queue: string, worker: string): string {
  return `${partsOf(queue).base}.commands/${worker}`;
}

/** The worker that a queue waits for which nobody serves. */
export function workerCommand(queue: string): string {
  const [, models, provider] = OF_MODELS.exec(queue) ?? [];
  if (models !== undefined) return `cadre worker --queue ${models} --models ${provider}`;
  const { base, host } = partsOf(queue);
  return `cadre worker --queue ${base}${host === undefined ? '' : ` --host ${host}`}`;
}

/** What workers are of that have a version. */
export interface WorkerBuild {
  deployment: string;
  build: string;
}

/** What makes a build the one that new sessions of its queues begin on. */
export function currentBuildCommand({ deployment, build }: WorkerBuild): string {
  return `temporal worker deployment set-current-version --deployment-name ${deployment} --build-id ${build}`;
}

function partsOf(queue: string): { base: string; host?: string } {
  const [, base, host = ''] = OF_HOST.exec(queue) ?? [];
  return base === undefined || !HOST.test(host) ? { base: queue } : { base, host };
}
