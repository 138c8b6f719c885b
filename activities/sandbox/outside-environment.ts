import { delimiter } from 'node:path';
import { outsidePath, withoutFillable } from './outside-path.ts';
import { isForLoader } from './sandboxed-command.ts';

type Environment = Readonly<Record<string, string>>;

/** Files that shells run before they do what they are told. */
const RUN_FIRST = ['BASH_ENV', 'ENV'];

/**
 * The environment of a command that a person has allowed outside the sandbox: programs, libraries and what a shell runs
 * first are taken from nowhere that a repository or a contained command may fill.
 */
export function outsideEnvironment(environment: Environment, fillable: readonly string[]): Environment {
  const lists = Object.entries(environment).flatMap(([name, value]) => {
    if (!isForLoader(name) && !RUN_FIRST.includes(name)) return [[name, value]];
    const rest = withoutFillable(value.replace(/[ ;]/g, delimiter), fillable);
    return rest.length === 0 ? [] : [[name, rest.join(delimiter)]];
  });
  return { ...Object.fromEntries(lists), PATH: outsidePath(environment.PATH, fillable) };
}
