import { isUtf8 } from 'node:buffer';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProjectDocs } from '../../protocol/index.ts';
import { upToRepository } from '../sandbox/has-repository.ts';
import { isWithin } from '../sandbox/is-within.ts';
import { openOrdinaryFile } from '../tools/ordinary-path.ts';
import { withNulShown } from '../with-nul-shown.ts';

/** In each folder the first of them that can be read. */
const NAMES = ['AGENTS.md', 'CLAUDE.md'];

type DocFile = ProjectDocs['files'][number];

/**
 * The AGENTS.md files from the root of the project down to a folder, links resolved; undefined where there are none.
 * They may come from a stranger: nothing is read but ordinary files of the project itself.
 *
 * @param maxBytes of all together; the nearest have room first
 */
export async function readProjectDocs(folder: string, maxBytes: number): Promise<ProjectDocs | undefined> {
  const real = await realpath(folder).catch(() => undefined);
  if (real === undefined || maxBytes === 0) return undefined;
  const levels = upToRepository(real);
  const root = levels.at(-1) ?? real;
  const files: DocFile[] = [];
  const notices: string[] = [];
  let room = maxBytes;
  for (const level of levels) {
    const found = await docIn(level, root, room, notices);
    if (found === undefined) continue;
    room -= found.bytes;
    if (found.file.text !== '' || found.file.left_out !== undefined) files.unshift(found.file);
  }
  if (files.length === 0 && notices.length === 0) return undefined;
  return { files, ...(notices.length === 0 ? {} : { notices }) };
}

async function docIn(
  level: string,
  root: string,
  room: number,
  notices: string[],
): Promise<{ file: DocFile; bytes: number } | undefined> {
  for (const name of NAMES) {
    const path = join(level, name);
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined) continue;
    try {
      if (!isWithin(real, root)) throw new Error('it is a link that leads out of the project');
      return await readDoc(path, real, room, notices);
    } catch (error) {
      notices.push(`${path} was left out: ${reasonOf(error, real)}`);
    }
  }
  return undefined;
}

async function readDoc(
  path: string,
  real: string,
  room: number,
  notices: string[],
): Promise<{ file: DocFile; bytes: number }> {
  const { file, stats, real: opened } = await openOrdinaryFile(real);
  try {
    // The path may lead elsewhere by now.
    if (opened !== real) throw new Error('it was replaced while it was read');
    const bytes = Buffer.alloc(Math.min(stats.size, room));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    const read = bytes.subarray(0, bytesRead);
    const isCut = stats.size > bytesRead;
    const kept = isCut ? wholeLines(read) : read;
    if (!isUtf8(kept)) notices.push(`${path} is not UTF-8 throughout: what is not reads as \ufffd`);
    const text = withNulShown(kept.toString().replace(/^\ufeff/, '')).trim();
    const left = stats.size - kept.length;
    return { file: { path, text, ...(left > 0 ? { left_out: left } : {}) }, bytes: kept.length };
  } finally {
    await file.close();
  }
}

/** Up to the last line that is whole; of one that is too long for that, up to the last whole character. */
function wholeLines(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf(0x0a);
  if (end >= bytes.length / 2) return bytes.subarray(0, end + 1);
  let last = bytes.length - 1;
  while (last >= 0 && last > bytes.length - 4 && ((bytes[last] ?? 0) & 0xc0) === 0x80) last--;
  const isWhole = last < 0 || isUtf8(bytes.subarray(last));
  return isWhole ? bytes : bytes.subarray(0, last);
}

function reasonOf(error: unknown, real: string): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(`${real} `, 'it ').replace(/\.$/, '');
}
