import type { Stats } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CadreError, counted } from '../../protocol/index.ts';
import { foldersAbove } from '../sandbox/is-within.ts';
import { systemReason } from '../system-reason.ts';
import { openOrdinaryFile } from '../tools/ordinary-path.ts';
import { shownName } from '../tools/path-argument.ts';
import { applyHunks } from './apply-hunks.ts';
import type { FileChange } from './parse-patch.ts';
import type { FileWrite } from './staged-file.ts';

/** A larger file is no text that somebody edits by hand. */
const MOST_FILE_BYTES = 10_000_000;

export interface PlannedPatch {
  writes: FileWrite[];
  /** One line a change, in the order of the patch. */
  summary: string[];
}

interface Known {
  before: Stats | undefined;
  /** Undefined: it is not there, or no longer. What only goes, or is in the way, is not read. */
  content: string | typeof UNREAD | undefined;
  mode?: number;
}
const UNREAD = Symbol('unread');

const UNCHANGED = 'Nothing was changed, in no file.';

/**
 * What the changes make of the files as they are, each change on what those before it leave. Nothing is written.
 *
 * @param resolve an absolute path, from one of the patch
 * @param signal stops it between two changes
 * @throws CadreError `tool_failed` for a change that does not fit what is there
 */
export async function planFiles(
  changes: readonly FileChange[],
  resolve: (path: string) => string,
  signal: AbortSignal,
): Promise<PlannedPatch> {
  const files = new Map<string, Known>();
  const summary: string[] = [];
  const goneLinks = new Set<string>();
  const find = async (path: string): Promise<[string, Known]> => {
    if (goneLinks.size > 0) await refuseBelow(goneLinks, resolve(path), path);
    const link = await linkAt(resolve(path));
    // One that a change before has taken away leads nowhere any more.
    const isGone = link !== undefined && files.has(link.path);
    const real = isGone ? link.path : await realPath(resolve(path));
    const known = files.get(real) ?? (await look(real, path));
    files.set(real, known);
    return [real, known];
  };
  for (const change of changes) {
    signal.throwIfAborted();
    if (change.kind === 'delete') {
      const link = await linkAt(resolve(change.path));
      if (link !== undefined && !files.has(link.path)) {
        files.set(link.path, { before: link.stats, content: undefined });
        goneLinks.add(link.path);
        summary.push(`D ${shownName(change.path)}`);
        continue;
      }
    }
    const [real, known] = await find(change.path);
    switch (change.kind) {
      case 'add': {
        if (known.content !== undefined) throw taken(change.path);
        const content = change.lines.map((line) => `${line}\n`).join('');
        files.set(real, { ...known, content });
        summary.push(`A ${shownName(change.path)} (+${change.lines.length})`);
        break;
      }
      case 'delete': {
        if (known.content === undefined) throw missing(change.path);
        files.set(real, { before: known.before, content: undefined });
        summary.push(`D ${shownName(change.path)}`);
        break;
      }
      case 'update': {
        const content = applyHunks(await contentOf(known, real, change.path), change.hunks, change.path);
        const lines = change.hunks.flatMap((hunk) => hunk.lines);
        const count = (kind: 'add' | 'remove') => lines.filter((line) => line.kind === kind).length;
        const counts = `(+${count('add')} -${count('remove')})`;
        if (change.moveTo === undefined) {
          files.set(real, { ...known, content });
          summary.push(`M ${shownName(change.path)} ${counts}`);
          break;
        }
        const [target, there] = await find(change.moveTo);
        const link = await linkAt(resolve(change.path));
        const isInPlace = link?.path === (await linkAt(resolve(change.moveTo)))?.path;
        if (link !== undefined && link.path !== real && !isInPlace) throw isLink(change.path, real);
        if (target !== real && there.content !== undefined) throw taken(change.moveTo);
        files.set(real, { before: known.before, content: undefined });
        const mode = known.mode ?? known.before?.mode;
        files.set(target, {
          before: target === real ? known.before : there.before,
          content,
          ...(mode === undefined ? {} : { mode }),
        });
        summary.push(`R ${shownName(change.path)} -> ${shownName(change.moveTo)} ${counts}`);
      }
    }
  }
  return { writes: [...files].flatMap(([path, known]) => writeOf(path, known) ?? []), summary };
}

/** Undefined for what was only looked at, or was added and deleted again. */
function writeOf(path: string, { before, content, mode }: Known): FileWrite | undefined {
  if (content === UNREAD || (before === undefined && content === undefined)) return undefined;
  return { path, before, content, ...(mode === undefined ? {} : { mode }) };
}

/** With all links followed, as far as there is something. */
async function realPath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' || dirname(path) === path) {
      throw new CadreError('tool_failed', `${shownName(path)} ${systemReason(error, 'read')}.`, {
        hint: UNCHANGED,
        cause: error,
      });
    }
    if ((await lstat(path).catch(() => undefined)) !== undefined) {
      throw new CadreError('tool_failed', `${shownName(path)} is a link to what is not there.`, {
        hint: UNCHANGED,
      });
    }
    return join(await realPath(dirname(path)), basename(path));
  }
}

/** A link that is itself meant: to delete it says nothing of what it leads to. */
async function linkAt(path: string): Promise<{ path: string; stats: Stats } | undefined> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isSymbolicLink() !== true) return undefined;
  return { path: join(await realPath(dirname(path)), basename(path)), stats };
}

/** What is written where a link was would go to where that led: the folder in its place is not there yet. */
async function refuseBelow(gone: ReadonlySet<string>, path: string, named: string): Promise<void> {
  for (const folder of foldersAbove(path)) {
    const link = await linkAt(folder);
    if (link === undefined || !gone.has(link.path)) continue;
    throw new CadreError(
      'tool_failed',
      `${shownName(named)} lies behind the link ${shownName(link.path)}, which this patch deletes.`,
      { hint: `${UNCHANGED} Delete the link in a patch of its own first.` },
    );
  }
}

async function look(real: string, path: string): Promise<Known> {
  const before = await lstat(real).catch(() => undefined);
  if (before === undefined) return { before, content: undefined };
  if (before.isFile()) return { before, content: UNREAD };
  const what = before.isDirectory() ? 'a folder' : 'no ordinary file';
  throw new CadreError('tool_failed', `${shownName(path)} is ${what}, and patches are for files.`, {
    hint: UNCHANGED,
  });
}

/** As it is, or as the changes before have left it. */
async function contentOf(known: Known, real: string, path: string): Promise<string> {
  if (known.content === undefined) throw missing(path);
  if (known.content !== UNREAD) return known.content;
  const { file, stats } = await openOrdinaryFile(real);
  try {
    if (stats.size > MOST_FILE_BYTES) {
      throw new CadreError(
        'tool_failed',
        `${shownName(path)} is too large to be patched: ${counted(stats.size, 'byte')}.`,
        {
          hint: `Nothing was changed. ${MOST_FILE_BYTES} bytes are the most; use a command.`,
        },
      );
    }
    known.before = stats;
    return textOf(await file.readFile(), path);
  } finally {
    await file.close();
  }
}

function textOf(bytes: Buffer, path: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // Said below.
  }
  throw new CadreError('tool_failed', `${shownName(path)} is no UTF-8 text, so it cannot be patched.`, {
    hint: 'Nothing was changed. Use a command for it.',
  });
}

function missing(path: string): CadreError {
  return new CadreError('tool_failed', `${shownName(path)} does not exist.`, {
    hint: `${UNCHANGED} A new file needs *** Add File.`,
  });
}

/** Whether it goes itself, or what it leads to, only the model knows. */
function isLink(path: string, real: string): CadreError {
  return new CadreError('tool_failed', `${shownName(path)} is a link, and only files can be moved.`, {
    hint: `${UNCHANGED} Move ${shownName(real)}, which it leads to, or use a command.`,
  });
}

function taken(path: string): CadreError {
  return new CadreError('tool_failed', `${shownName(path)} is there already.`, {
    hint: `${UNCHANGED} Use *** Update File, or *** Delete File for it first.`,
  });
}
