import { constants } from 'node:fs';
import { access, lstat, mkdir, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { type AgentId, type ArchiveRequest, CadreError, nameOf } from '../../protocol/index.ts';
import { exists } from '../../rollout/write-new-file.ts';
import type { OwnPlaces } from '../sandbox/sandboxed-command.ts';
import { writablePlaces } from '../sandbox/writable-places.ts';

type Writer = ArchiveRequest['writer'];

/** The file that an archive goes to, and which folders are fine for it. */
export interface ArchivePlace {
  path: string;
  /** @throws CadreError for a folder, links resolved, that may not be written to */
  allow(folder: string): void;
}

/** The name of the archive of an agent in a folder. */
function archiveName(agent: AgentId): string {
  return `${agent.replaceAll('/', '~')}.jsonl`;
}

/** Where Cadre itself keeps the archives of an agent: a name for each try, since others may be taken. */
export function usualPlace(folder: string, agent: AgentId): (attempt: number) => ArchivePlace {
  const name = archiveName(agent);
  return (attempt) => {
    const file = attempt === 0 ? name : name.replace(/\.jsonl$/, `-${attempt + 1}.jsonl`);
    return { path: join(folder, file), allow: () => {} };
  };
}

/**
 * The place that an agent has named: nothing may be there, and it has to be one that the agent could write to itself.
 *
 * @param own what commands do not write to
 * @throws CadreError `not_permitted`, `rollout_exists`, `invalid_arguments`
 */
export async function namedPlace(
  asked: string,
  agent: AgentId,
  writer: Writer,
  own: OwnPlaces,
): Promise<ArchivePlace> {
  if (asked.includes('\0')) throw unusable('archive_to contains a NUL byte.');
  const wanted = resolve(writer.working_directory, asked.replace(/^~(?=\/|$)/, homedir()));
  const isFolder = (await stat(wanted).catch(() => undefined))?.isDirectory() === true;
  const path = isFolder ? join(wanted, `${nameOf(agent)}.jsonl`) : wanted;
  const allow = (folder: string): void => requireWritable(folder, writer, own);
  const folder = await realpath(dirname(path)).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'does not exist' : `cannot be used (${error.code})`;
    throw unusable(`The folder ${dirname(path)} for archive_to ${reason}.`);
  });
  if (!(await stat(folder)).isDirectory()) throw unusable(`${dirname(path)} is not a folder.`);
  allow(folder);
  await access(folder, constants.W_OK).catch((error: NodeJS.ErrnoException) => {
    throw unusable(`Nothing can be written to the folder ${folder} for archive_to (${error.code}).`);
  });
  return { path: join(folder, basename(path)), allow };
}

/** @throws CadreError `rollout_exists`; `invalid_arguments` for what no file can be named */
export async function requireFree(path: string): Promise<void> {
  // A link that leads nowhere is something, too.
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => error);
  if (!(found instanceof Error)) throw exists(path);
  if (found.code !== 'ENOENT')
    throw unusable(`archive_to cannot be used as the name of a file (${found.code}).`);
}

export async function prepareFolder(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
}

function requireWritable(
  folder: string,
  { sandbox_mode: mode, working_directory, sandbox }: Writer,
  own: OwnPlaces,
): void {
  if (mode === 'danger-full-access') return;
  const places = () => writablePlaces({ ...own, workingDirectory: working_directory, open: sandbox });
  if (mode === 'workspace-write' && places().has(folder)) return;
  throw new CadreError(
    'not_permitted',
    `archive_to is in ${folder}, which the sandbox (${mode}) does not let you write to.`,
    {
      hint:
        mode === 'read-only'
          ? 'Leave archive_to out.'
          : 'Name a place below your working directory or another writable root, or leave it out.',
    },
  );
}

function unusable(message: string): CadreError {
  return new CadreError('invalid_arguments', message, {
    hint: 'Name a file in a folder that exists, or leave archive_to out.',
  });
}
