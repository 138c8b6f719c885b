import { readFileSync, statSync } from 'node:fs';
import { CadreError } from '../protocol/errors.ts';
import { readOrdinaryFile } from '../worker/ordinary-file.ts';
import type { Environment } from './config/environment.ts';

/** What the shell has opened for this command, as `<(…)` does, may be a pipe that somebody writes to. */
export const OPENED_BY_SHELL = /^\/(dev\/stdin|(dev|proc\/self)\/fd\/\d+)$/;

const read = new Map<string, Buffer>();

/**
 * A small file, or what the shell has opened in its place. That is kept, as settings are read more than once, and a
 * pipe, empty by then, would pass for settings in which nothing stands.
 *
 * @throws UnfitFile
 */
export function readFileOrOpened(path: string): Buffer {
  if (!OPENED_BY_SHELL.test(path)) return readOrdinaryFile(path).bytes;
  const bytes = read.get(path) ?? (isPipe(path) ? readFileSync(path) : readOrdinaryFile(path).bytes);
  read.set(path, bytes);
  return bytes;
}

function isPipe(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFIFO() === true;
}

/**
 * For what is left to a process of its own from the start.
 *
 * @throws CadreError `usage` for settings that it could not read
 */
export function requireLastingSettings(environment: Environment): void {
  const named = openedSettings(environment);
  if (named === undefined) return;
  throw new CadreError(
    'usage',
    `CADRE_CONFIG names ${named}, which the shell has opened for this command alone: the worker in the background could not read it.`,
    { hint: 'Put the settings into a file, or leave --detach out.' },
  );
}

/**
 * The environment of a process that outlives this command: what the shell has opened is not there, and under its number
 * there may be something else. So that process says that it has no such file.
 */
export function environmentWithoutOpened(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const named = openedSettings(environment);
  if (named === undefined) return environment;
  return { ...environment, CADRE_CONFIG: `${named} (opened for another command)` };
}

function openedSettings({ CADRE_CONFIG: named }: Environment): string | undefined {
  return named !== undefined && OPENED_BY_SHELL.test(named) ? named : undefined;
}
