import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute } from 'node:path';
import type { McpServerSettings } from '../../protocol/index.ts';

export interface Surroundings {
  /** What a server of a command gets beside its own. */
  environment: Readonly<Record<string, string>>;
  /** Where the values of the variables are found that its settings name. */
  variables: Readonly<Record<string, string | undefined>>;
}

/**
 * Where a server runs that is not told where: `npx`, `python -m` and others run what lies in their working directory, so
 * it is none that a repository fills.
 */
export function neutralFolder(home = homedir()): string {
  return statSync(home, { throwIfNoEntry: false })?.isDirectory() ? home : '/';
}

const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin';

/** The environment of a server of a command. */
export function serverEnvironment(
  { env = {}, env_vars: names = [] }: McpServerSettings,
  { environment, variables }: Surroundings,
): Record<string, string> {
  const passed = names.flatMap((name) => {
    const value = variables[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const { PATH: path } = environment;
  return {
    ...environment,
    ...(path === undefined ? {} : { PATH: ordinaryFolders(path) }),
    ...env,
    ...Object.fromEntries(passed),
  };
}

/** Without those that depend on where a program runs, or that `npm` and `npx` put first for what lies in a project. */
function ordinaryFolders(path: string): string {
  const folders = path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !folder.split('/').includes('node_modules'));
  // An empty one would mean the working directory.
  return folders.length === 0 ? USUAL_PATH : folders.join(delimiter);
}
