import { readdir, realpath } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { CadreError } from '../../protocol/index.ts';
import { isWithin } from '../sandbox/is-within.ts';
import { openOrdinaryFile } from '../tools/ordinary-path.ts';
import { brokenRole } from './broken-role.ts';
import { type ParsedRole, parseRole, ROLE_BYTES_MAX, tooLarge } from './parse-role.ts';
import type { RoleFolder } from './role-folders.ts';

/** How far below a folder files are looked for, and how many of them count. */
const DEPTH = 4;
const MOST_FILES = 1_000;
const ROLE_FILE = /\.(md|toml)$/i;
const HIDDEN = /^\.(?!\.)/;

type ReadRole = ({ ok: true } & ParsedRole) | { ok: false; error: CadreError };

export type RoleFile = {
  name: string;
  path: string;
  origin: RoleFolder['origin'];
  /** It may come from anybody, and bounds of others hold for it. */
  isStrange: boolean;
} & ReadRole;

/**
 * Every role file in these folders, the nearest first; one that is broken spoils no other.
 *
 * @param isWanted by name, where not all of them are
 * @param trusted real folders of a project in which its files count as the person's
 */
export async function readRoleFiles(
  folders: readonly RoleFolder[],
  isWanted: (name: string) => boolean = () => true,
  trusted: readonly string[] = [],
): Promise<RoleFile[]> {
  const files: RoleFile[] = [];
  for (const { path: folder, origin } of folders) {
    for (const path of await filesIn(folder)) {
      const name = roleNameOf(path);
      if (!isWanted(name)) continue;
      const { real, ...read } = await readFileOf(path);
      const isStrange = origin === 'project' && !trusted.some((one) => isWithin(real, one));
      files.push({ name, path, origin, isStrange, ...read });
    }
  }
  return files;
}

/**
 * One role file.
 *
 * @returns the error, where it is broken, with path and line
 */
export async function readRoleFile(path: string): Promise<ReadRole> {
  const { real: _, ...read } = await readFileOf(path);
  return read;
}

/** Also where the file really lies: the links on its path may be anybody's. */
async function readFileOf(path: string): Promise<ReadRole & { real: string }> {
  let real = await realpath(path).catch(() => path);
  try {
    const opened = await textOf(path);
    real = opened.real;
    return { ok: true, real, ...parseRole(roleNameOf(path), opened.text, path) };
  } catch (error) {
    if (error instanceof CadreError) return { ok: false, real, error };
    throw error;
  }
}

function roleNameOf(path: string): string {
  return basename(path, extname(path));
}

async function textOf(path: string): Promise<{ text: string; real: string }> {
  const { file, stats, real } = await openOrdinaryFile(path).catch((error: unknown) => {
    throw brokenRole(path, 1, reasonOf(error, path));
  });
  try {
    if (stats.size > ROLE_BYTES_MAX) throw tooLarge(path);
    const bytes = Buffer.alloc(ROLE_BYTES_MAX + 1);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, bytesRead));
    return { text, real };
  } catch (error) {
    if (error instanceof TypeError) throw brokenRole(path, 1, 'is no text: it is not UTF-8');
    if (error instanceof CadreError) throw error;
    throw brokenRole(path, 1, reasonOf(error, path));
  } finally {
    await file.close();
  }
}

function reasonOf(error: unknown, path: string): string {
  const { message, code } = error as NodeJS.ErrnoException;
  if (error instanceof CadreError) return message.replace(`${path} `, '').replace(/\.$/, '');
  return `cannot be read (${code ?? message})`;
}

/**
 * The shallow before the deep, then by name; of two of one name in one folder the first counts. Links to files are
 * followed, and the folder itself may be one; those to folders within could lead anywhere.
 */
async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  let level = [folder];
  for (let depth = 0; depth < DEPTH && found.length < MOST_FILES; depth++) {
    const deeper: string[] = [];
    for (const at of level) {
      const entries = await readdir(at, { withFileTypes: true }).catch(() => []);
      for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
        const path = join(at, entry.name);
        if (HIDDEN.test(entry.name)) continue;
        if (ROLE_FILE.test(entry.name)) found.push(path);
        else if (entry.isDirectory()) deeper.push(path);
      }
    }
    level = deeper;
  }
  return found.slice(0, MOST_FILES);
}
