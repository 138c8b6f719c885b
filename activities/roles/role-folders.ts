import { join } from 'node:path';
import { upToRepository } from '../sandbox/has-repository.ts';
import { realProjectRoot } from '../trust/project-root.ts';

/** The folders of Cadre, Codex and Claude Code, in this order. */
const FAMILIES = ['.cadre', '.codex', '.claude'];

export interface RoleFolder {
  path: string;
  /** What lies in a project may come from a stranger. */
  origin: 'project' | 'home';
}

/**
 * Where role files are looked for, the nearest first: from the folder up to the root of its repository, then at home.
 * Outside of a repository only the folder itself counts, so that nothing is taken from whatever lies above it.
 */
export function roleFolders(folder: string, home: string): RoleFolder[] {
  const levels = upToRepository(folder).filter((level) => level !== home);
  return [...levels.flatMap((level) => foldersIn(level, 'project')), ...foldersIn(home, 'home')];
}

/**
 * The folders of a project, links resolved, in which commands of no session that works there can write. Elsewhere in it
 * they can, so that what lies there may be an agent's own, however far the person trusts the project.
 */
export function guardedFolders(folder: string): string[] {
  const root = realProjectRoot(folder);
  return root === undefined ? [] : FAMILIES.map((family) => join(root, family));
}

function foldersIn(level: string, origin: RoleFolder['origin']): RoleFolder[] {
  return FAMILIES.map((family) => ({ path: join(level, family, 'agents'), origin }));
}
