import { isAbsolute, join, resolve } from 'node:path';
import { CadreError } from '../../protocol/errors.ts';
import { projectRoot } from '../../worker/trust.ts';
import type { Environment } from './environment.ts';
import { leaves, matches, setAt, type Table } from './key-path.ts';
import { fileLayer, type Layer } from './layer.ts';
import { PATH_KEYS } from './schema.ts';
import { readTomlFile } from './toml-file.ts';

/** In the place of a digest, and none that anything has. */
const UNREADABLE = 'unreadable';

export interface ConfigFile {
  path: string;
  /** The path as people read it. */
  show: string;
  layer: Layer;
  kind: 'user' | 'repository';
  /** SHA-256 of what the file holds; of what cannot be read there is none, and no person can have seen it. */
  digest: string;
  /** Why nothing of a repository's file can be used. */
  broken?: CadreError;
}

/**
 * The person's own file: `~/.cadre/config.toml`, or what CADRE_CONFIG names.
 *
 * @throws CadreError `config_invalid` for a file that cannot be read or is no TOML
 */
export function userFile(environment: Environment, home: string): ConfigFile | undefined {
  const named = environment.CADRE_CONFIG || undefined;
  const path = named === undefined ? join(home, '.cadre', 'config.toml') : resolve(named);
  const file = configFile(path, 'user', home);
  if (file?.broken !== undefined) throw file.broken;
  if (file === undefined && named !== undefined) {
    throw new CadreError('config_invalid', `CADRE_CONFIG names ${path}, which does not exist`, {
      hint: 'Create the file, or unset CADRE_CONFIG.',
    });
  }
  return file;
}

/** `.cadre/config.toml` of the repository that a folder is in, or of the folder itself. */
export function repositoryFile(
  cwd: string,
  home: string,
  userPath: string | undefined,
): ConfigFile | undefined {
  const path = join(projectRoot(cwd), '.cadre', 'config.toml');
  const isPersonal = path === userPath || path === join(home, '.cadre', 'config.toml');
  return isPersonal ? undefined : configFile(path, 'repository', home);
}

function configFile(path: string, kind: ConfigFile['kind'], home: string): ConfigFile | undefined {
  const file = readTomlFile(path);
  if (file === undefined) return undefined;
  const show = path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
  const { digest = UNREADABLE, broken } = file;
  const layer = fileLayer(kind, file, show);
  return { path, show, kind, digest, layer, ...(broken === undefined ? {} : { broken }) };
}

/** Paths in a file are relative to it, wherever the command runs. */
export function makeAbsolute(values: Table, folder: string, home: string): void {
  for (const [path, value] of leaves(values)) {
    const key = path[0] === 'profiles' ? path.slice(2) : path;
    if (!matches(key, PATH_KEYS)) continue;
    setAt(
      values,
      path,
      Array.isArray(value) ? value.map((one) => absolute(one, folder, home)) : absolute(value, folder, home),
    );
  }
}

/** What is no path is left to the check of all values; an empty one would become the folder itself. */
function absolute(value: unknown, folder: string, home: string): unknown {
  if (typeof value !== 'string' || value === '') return value;
  const expanded = value.startsWith('~/') ? join(home, value.slice(2)) : value;
  return isAbsolute(expanded) ? expanded : resolve(folder, expanded);
}
