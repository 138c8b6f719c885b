import { statSync } from 'node:fs';
import module from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheDir } from '../server/home.ts';
import type { Environment } from './config/environment.ts';

const BUILT = fileURLToPath(new URL('..', import.meta.url));

/**
 * What of Cadre, beside CADRE_HOME, no command in a sandbox may change, as it runs, or is obeyed, outside of any: what was
 * fetched, compiled code, the program itself, the person's settings, a team's tools.
 */
export function ownPlaces(environment: Environment, toolsFile?: string): string[] {
  const { CADRE_CONFIG: config } = environment;
  const places = [
    cacheDir(environment),
    ...[module.getCompileCacheDir() ?? []].flat(),
    // From source it is the whole repository, which whoever works on Cadre has to write to.
    ...(import.meta.url.endsWith('.js') ? [BUILT] : []),
    ...[config, toolsFile].flatMap((file) => (file ? [resolve(file)] : [])),
  ];
  return places.filter(isFileOrFolder);
}

/** Not what a shell has opened for this process alone. */
function isFileOrFolder(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true || found?.isDirectory() === true;
}
