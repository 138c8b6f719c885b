import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import type { McpServerSettings } from '../../protocol/index.ts';
import { withoutFillableCode } from '../sandbox/code-variables.ts';
import { outsidePath } from '../sandbox/outside-path.ts';

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

/**
 * What npm tells those whom it starts (`npx cadre`), with the settings of the folder that it runs in: those of a
 * repository name the registry from which another `npx` would fetch. People write these names in capitals.
 */
const OF_NPM = /^npm_/;

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
  const plain = Object.entries(environment).filter(([name]) => !OF_NPM.test(name));
  return {
    ...withoutFillableCode(Object.fromEntries(plain), []),
    ...(path === undefined ? {} : { PATH: outsidePath(path, []) }),
    ...env,
    ...Object.fromEntries(passed),
  };
}
