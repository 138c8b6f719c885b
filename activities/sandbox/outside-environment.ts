import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RUN_FIRST, withoutFillableCode } from './code-variables.ts';
import { outsidePath, SYSTEM_PATH, withoutFillable } from './outside-path.ts';
import { isForLoader } from './sandboxed-command.ts';

type Environment = Readonly<Record<string, string>>;

/**
 * The environment of a command that a person has allowed outside the sandbox: programs, libraries and what a shell runs
 * first are taken from nowhere that a repository or a contained command may fill.
 */
export function outsideEnvironment(environment: Environment, fillable: readonly string[]): Environment {
  return { ...withoutFillableCode(environment, fillable), PATH: outsidePath(environment.PATH, fillable) };
}

/** What a program that is known to only read is told to obey by these may run something. */
const OBEYED = [...RUN_FIRST, 'RIPGREP_CONFIG_PATH', 'POSIXLY_CORRECT'];

/** The environment of a command that is known to only read: no variable has it run, load or obey anything. */
export function harmlessEnvironment(environment: Environment, fillable: readonly string[]): Environment {
  const plain = Object.entries(environment).filter(
    ([name]) => !isForLoader(name) && !name.startsWith('GIT_') && !OBEYED.includes(name),
  );
  return {
    ...Object.fromEntries(plain),
    PATH: outsidePath(SYSTEM_PATH, fillable),
    // What is missing is not fetched.
    GIT_NO_LAZY_FETCH: '1',
    ...(hasOwnSettings(environment, fillable) ? {} : { GIT_CONFIG_GLOBAL: '/dev/null' }),
  };
}

/** Whether git's settings of the person lie where nobody else writes. */
function hasOwnSettings(
  { HOME: home, XDG_CONFIG_HOME: xdg }: Environment,
  fillable: readonly string[],
): boolean {
  if (home === undefined) return false;
  const files = [join(home, '.gitconfig'), join(xdg || join(home, '.config'), 'git/config')];
  const places = [home, ...(xdg ? [xdg] : []), ...files].filter((path) => existsSync(path));
  return places.every((path) => withoutFillable(path, fillable).length > 0);
}
