import { realpathSync } from 'node:fs';
import { counted } from '../protocol/counted.ts';
import { CadreError } from '../protocol/errors.ts';
import {
  type AgentId,
  isAgentId,
  nameOf,
  resolveReference,
  type SessionId,
  sessionOf,
} from '../protocol/ids.ts';
import type { SessionFiles } from './serving/session-files.ts';

/** Stands where an id could: the newest session of this folder. */
export const LAST = '--last';

/**
 * The session that a reference leads to. A short one means an agent of the newest session of this folder.
 *
 * @throws CadreError `agent_not_found` for a text that cannot lead to any
 */
export async function sessionNamed(reference: string, files: SessionFiles, cwd: string): Promise<SessionId> {
  if (isAgentId(reference)) return sessionOf(reference);
  const newest = await newestSession(files, cwd);
  if (newest !== undefined) return newest;
  if (reference === LAST) {
    throw new CadreError('agent_not_found', `No session was started in ${cwd}.`, {
      hint: '`cadre ps --all` lists those of every folder.',
    });
  }
  throw new CadreError(
    'agent_not_found',
    `There is no agent ${JSON.stringify(reference)}: that is not an id.`,
    {
      hint: 'An id looks like a0k3v9x2m4qd7 or a0k3v9x2m4qd7/worker-1; `cadre ps --all` lists them. A short name means an agent of the newest session of this folder, and there is none.',
    },
  );
}

/**
 * The agent that a short reference means.
 *
 * @throws CadreError `agent_not_found`, or `agent_ambiguous` with the candidates
 */
export function agentAmong(reference: string, session: SessionId, known: readonly AgentId[]): AgentId {
  const found = resolveReference(reference, session, known);
  if ('id' in found) return found.id;
  const { candidates } = found;
  if (candidates.length > 0) {
    throw new CadreError(
      'agent_ambiguous',
      `${JSON.stringify(reference)} may mean ${counted(candidates.length, 'agent')}: ${candidates.join(', ')}`,
      { hint: 'Give more of the path, or the whole id.' },
    );
  }
  const names = known.filter((id) => id !== session).map(nameOf);
  throw new CadreError(
    'agent_not_found',
    `There is no agent ${JSON.stringify(reference)} in ${session}, the newest session of this folder.`,
    {
      hint:
        names.length === 0 ? 'It has no agents but its root.' : `It has: ${names.slice(0, 20).join(', ')}.`,
    },
  );
}

async function newestSession(files: SessionFiles, cwd: string): Promise<SessionId | undefined> {
  const here = realPath(cwd);
  const records = (await files.all()).filter((record) => realPath(record.cwd) === here);
  records.sort((a, b) => Date.parse(b.started_at) - Date.parse(a.started_at));
  return records[0]?.session_id;
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
