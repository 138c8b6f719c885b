import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { AgentId, KeyRing, RolloutBody, RolloutEnd, SessionId } from '../protocol/index.ts';
import { openLine, sealLine } from './seal.ts';

/** Counts up when a reader of the last one would take a file for something that it is not. */
const ARCHIVE_FORMAT = 1;

/**
 * The first line of an archive: what one agent was, and what was below it. The lines between header and end are those
 * of a rollout; but since it begins below a root, it is to be read, and not to be brought back.
 */
export interface ArchiveHeader {
  type: 'archive';
  format: number;
  session_id: SessionId;
  agent_id: AgentId;
  /** ISO 8601. */
  written_at: string;
  /** The version of Cadre that has written it. */
  cadre: string;
  /** The lines below are sealed; each names its key. */
  sealed?: true;
}

export function archiveHeader(session: SessionId, agent: AgentId, cadre: string, now: Date): ArchiveHeader {
  return {
    type: 'archive',
    format: ARCHIVE_FORMAT,
    session_id: session,
    agent_id: agent,
    written_at: now.toISOString(),
    cadre,
  };
}

/** An archive as text, line by line; with keys every line but the header is sealed. */
export async function* archiveText(
  header: ArchiveHeader,
  body: AsyncIterable<RolloutBody>,
  keys: KeyRing | undefined,
): AsyncGenerator<string> {
  const kept = async (text: string) => (keys === undefined ? text : sealLine(text, keys));
  yield JSON.stringify(keys === undefined ? header : { ...header, sealed: true });
  const hash = createHash('sha256').update(`${header.session_id} ${header.agent_id}\n`);
  const counts = { agents: 0, lines: 0 };
  for await (const line of body) {
    const text = JSON.stringify(line);
    hash.update(`${text}\n`);
    counts.lines++;
    if (line.type === 'agent') counts.agents++;
    yield kept(text);
  }
  const end: RolloutEnd = { type: 'end', ...counts, sha256: hash.digest('hex') };
  yield kept(JSON.stringify(end));
}

/** The digest of the content of an archive, however it is sealed; undefined for what is none, or has no end. */
export async function archiveDigest(path: string, keys: KeyRing | undefined): Promise<string | undefined> {
  try {
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    const header = JSON.parse(lines[0] ?? '') as ArchiveHeader;
    if (header.type !== 'archive') return undefined;
    const last = lines.at(-1) ?? '';
    const text = header.sealed === true ? await openLine(last, lines.length, keys) : last;
    const end = JSON.parse(text) as RolloutEnd;
    return end.type === 'end' ? end.sha256 : undefined;
  } catch {
    return undefined;
  }
}
