import { statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheDir } from '../server/home.ts';
import { isWithin } from '../worker/trust.ts';
import type { Environment } from './config/environment.ts';
import type { Config } from './config/schema.ts';

const BUILT = fileURLToPath(new URL('..', import.meta.url));

/**
 * What of Cadre, beside CADRE_HOME, no command in a sandbox may change, as it runs, or is obeyed, outside of any: what was
 * fetched, compiled code, the program itself and Node, the person's settings and what those name, a team's tools.
 *
 * @param toolFiles what was loaded for `--tools`
 */
export function ownPlaces(
  environment: Environment,
  { rollouts, encryption, memory, temporal: { tls } }: Config,
  toolFiles: readonly string[] = [],
): string[] {
  const { CADRE_CONFIG: config, TEMPORAL_CONFIG_FILE: temporal } = environment;
  const certificates =
    typeof tls === 'object' ? [tls.server_ca_cert_path, tls.client_cert_path, tls.client_key_path] : [];
  const files = [
    config,
    temporal,
    encryption?.key_file,
    memory.path,
    ...certificates,
    ...toolFiles.filter((file) => !file.startsWith(BUILT)),
  ];
  const places = [
    cacheDir(environment),
    ...[module.getCompileCacheDir() ?? []].flat(),
    ...programs(),
    ...files.flatMap((file) => (file ? [resolve(file)] : [])),
  ];
  return [
    ...places.filter(isFileOrFolder),
    ...settingsOfTemporal(environment),
    ...folderOf(rollouts.directory),
  ];
}

/** Node, and the built program: from source it is the whole repository, which whoever works on Cadre has to write to. */
function programs(): string[] {
  // What a project has installed is the agent's.
  const node = process.execPath.split(sep).includes('node_modules') ? [] : [process.execPath];
  if (!import.meta.url.endsWith('.js')) return node;
  const above = dirname(BUILT);
  // As npm installs it, with what only it has; a clone is somebody's work.
  const isInstalled = basename(dirname(above)) === 'node_modules';
  return [...node, isInstalled ? above : BUILT];
}

/** The folder of `temporal.toml`, there or not: it may name another server, whose word workers take. */
function settingsOfTemporal({ HOME, XDG_CONFIG_HOME }: Environment): string[] {
  if (process.platform !== 'linux') return [];
  return [join(XDG_CONFIG_HOME || join(HOME || homedir(), '.config'), 'temporalio')];
}

/** What is restored from there has the settings that it says; where somebody works in it, it is theirs. */
function folderOf(rollouts: string | undefined): string[] {
  if (rollouts === undefined || isWithin(process.cwd(), resolve(rollouts))) return [];
  return [resolve(rollouts)];
}

/** Not what a shell has opened for this process alone. */
function isFileOrFolder(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true || found?.isDirectory() === true;
}
