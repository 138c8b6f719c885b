import type { Client } from '@temporalio/client';
import {
  type ArchiveAnswer,
  type ArchiveRequest,
  CadreError,
  type CoreActivities,
} from '../../protocol/index.ts';
import { AgentRuns } from '../../rollout/agent-runs.ts';
import { archiveDigest, archiveHeader, archiveText } from '../../rollout/archive.ts';
import { cadreVersion } from '../../rollout/cadre-version.ts';
import { collect } from '../../rollout/collect.ts';
import type { Rollouts } from '../../rollout/rollouts.ts';
import { writeNewFile } from '../../rollout/write-new-file.ts';
import { withHeartbeat } from '../heartbeat.ts';
import type { OwnPlaces } from '../sandbox/sandboxed-command.ts';
import type { SessionStore } from '../session-store.ts';
import { type ArchivePlace, namedPlace, prepareFolder, requireFree, usualPlace } from './archive-place.ts';
import { askRun } from './ask-run.ts';

export interface ArchiveDeps {
  sessions: SessionStore;
  /** What no command in a sandbox may change, beside CADRE_HOME. */
  readOnly?: OwnPlaces['readOnly'];
  rollouts: Rollouts;
  /** Whether sessions leave anything on this host by themselves. */
  writesRollouts: boolean;
}

/** An agent that is ended again and again has so many archives in the usual folder. */
const MOST_OF_ONE = 1_000;

/**
 * The `archive_agent` activity: a closed agent, with all below it, into a file of its own. Done twice, it finds what it
 * has written; what is anything else is never written over.
 */
export function createArchiveAgent(client: Client, deps: ArchiveDeps): CoreActivities['archive_agent'] {
  return async (request) => {
    try {
      return await withHeartbeat((signal) => archive(client, deps, request, signal));
    } catch (error) {
      if (error instanceof CadreError && !error.retryable) return { ok: false, error: error.body };
      throw error;
    }
  };
}

async function archive(
  client: Client,
  { sessions, readOnly, rollouts, writesRollouts }: ArchiveDeps,
  request: ArchiveRequest,
  signal: AbortSignal,
): Promise<ArchiveAnswer> {
  const { session_id: session, agent_id: agent, archive_to: asked, writer } = request;
  const write = (place: ArchivePlace): Promise<void> => {
    const runs = new AgentRuns(client, askRun(client));
    const body = collect({ session, runs, stateDir: rollouts.stateDir, earlier: undefined, only: agent });
    const text = archiveText(archiveHeader(session, agent, cadreVersion(), new Date()), body, rollouts.keys);
    return writeNewFile(place.path, untilStopped(text, signal), place.allow, async (draft, existing) => {
      const [written, found] = await Promise.all(
        [draft, existing].map((path) => archiveDigest(path, rollouts.keys)),
      );
      return written !== undefined && written === found;
    });
  };
  if (asked !== undefined) {
    const place = await namedPlace(asked, agent, writer, { stateDir: rollouts.stateDir, readOnly });
    if (request.only_check) await requireFree(place.path);
    else await write(place);
    return { ok: true, path: place.path };
  }
  if (!writesRollouts || (await sessions.get(session)).rollout !== true) return { ok: true, path: null };
  const placeOf = usualPlace(rollouts.archivesOf(session), agent);
  for (let attempt = 0; ; attempt++) {
    const place = placeOf(attempt);
    try {
      await prepareFolder(place.path);
      await write(place);
      return { ok: true, path: place.path };
    } catch (error) {
      const isTaken = error instanceof CadreError && error.code === 'rollout_exists';
      if (!isTaken || attempt >= MOST_OF_ONE) throw error;
    }
  }
}

async function* untilStopped(lines: AsyncIterable<string>, signal: AbortSignal): AsyncGenerator<string> {
  for await (const line of lines) {
    signal.throwIfAborted();
    yield line;
  }
}
