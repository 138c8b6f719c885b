import { readTrusted, realProjectRoot } from '../../worker/trust.ts';

/** Whether a project's own settings count as the person's would. */
export interface FolderTrust {
  /** The root of the repository, or outside of any the folder itself; links resolved. */
  folder: string;
  /** `changed`: it is trusted, and its settings are others than those that the person has seen. */
  state: 'trusted' | 'changed' | 'untrusted';
  /** Why nothing can be trusted. */
  problem?: string;
}

/**
 * Whether the person trusts what is read from a folder. An agent, or a pull, may change the settings of a project at any
 * time: they count as they were when the person said so.
 *
 * @param home CADRE_HOME
 * @param digest of the project's settings as they are now; undefined where it has none
 */
export function folderTrust(home: string, folder: string, digest: string | undefined): FolderTrust {
  const root = realProjectRoot(folder);
  const { folders, problem } = readTrusted(home);
  if (root === undefined) return { folder, state: 'untrusted' };
  if (problem !== undefined) return { folder: root, state: 'untrusted', problem };
  const found = folders.find(({ path }) => path === root);
  if (found === undefined) return { folder: root, state: 'untrusted' };
  return { folder: root, state: found.config_sha256 === (digest ?? null) ? 'trusted' : 'changed' };
}
