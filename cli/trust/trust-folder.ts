import { statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { CadreError } from '../../protocol/errors.ts';
import {
  projectRoot,
  readTrusted,
  realProjectRoot,
  type TrustedFolder,
  trustFile,
} from '../../worker/trust.ts';
import { changeFile } from './change-file.ts';

/**
 * Trusts a project with the settings that it has now.
 *
 * @param folder the real root of a project
 * @param digest of its settings; undefined where it has none
 * @throws CadreError `config_invalid` where the file of trusted folders is broken, `home_unwritable`
 */
export async function trustFolder(home: string, folder: string, digest: string | undefined): Promise<void> {
  await changeTrusted(home, (folders) => [
    ...folders.filter(({ path }) => path !== folder),
    { path: folder, config_sha256: digest ?? null, trusted_at: new Date().toISOString() },
  ]);
}

/** @returns whether it was trusted */
export async function revokeTrust(home: string, folder: string): Promise<boolean> {
  let found = false;
  await changeTrusted(home, (folders) => {
    found = folders.some(({ path }) => path === folder);
    return found ? folders.filter(({ path }) => path !== folder) : undefined;
  });
  return found;
}

/** @throws CadreError `config_invalid` where the file is broken */
export function trustedFolders(home: string): readonly TrustedFolder[] {
  const { folders, problem } = readTrusted(home);
  if (problem === undefined) return folders;
  throw new CadreError('config_invalid', `${problem}.`, {
    hint: 'Mend it, or move it away and trust your folders anew.',
  });
}

/**
 * The root of the project that a folder is in, links resolved.
 *
 * @throws CadreError `usage` where there is no such folder, or nobody can tell whose it is
 */
export function rootToTrust(folder: string): string {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new CadreError('usage', `There is no folder ${folder}.`, { hint: 'Name one that exists.' });
  }
  const root = realProjectRoot(folder);
  if (root !== undefined) return root;
  const from = projectRoot(folder);
  throw new CadreError('usage', `${folder} leads by a link from ${from} into another project.`, {
    hint: 'Name the project that you mean by its own path.',
  });
}

/** A folder that is to be trusted no longer, which may be gone. */
export function rootToRevoke(home: string, folder: string): string {
  const path = isAbsolute(folder) ? folder : resolve(folder);
  return readTrusted(home).folders.some((each) => each.path === path)
    ? path
    : (realProjectRoot(path) ?? path);
}

async function changeTrusted(
  home: string,
  change: (folders: readonly TrustedFolder[]) => readonly TrustedFolder[] | undefined,
): Promise<void> {
  await changeFile(home, trustFile(home), () => {
    const folders = change(trustedFolders(home));
    return folders === undefined ? undefined : { folders };
  });
}
