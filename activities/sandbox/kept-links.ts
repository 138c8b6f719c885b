import { randomUUID } from 'node:crypto';
import { lstatSync, realpathSync, renameSync, symlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { linkAt } from './protected-paths.ts';

/** Links that commands of this process leave as they were, with what each said before the first of them. */
const kept = new Map<string, { target: string; commands: number }>();

/**
 * Links cannot be mounted on: they are put back when a command has ended, and before another one begins, which would
 * otherwise take what the first has put there for what always was.
 *
 * @param find the links that the command has to leave as they are, with what they say
 * @returns what puts them back; both tell what was done, a sentence each
 */
export function keepLinks(find: () => ReadonlyMap<string, string>): { release(): string[] } {
  const notes = [...kept].flatMap(([path, { target }]) => restoreLink(path, target));
  const paths: string[] = [];
  for (const [path, target] of find()) {
    const entry = kept.get(path) ?? { target, commands: 0 };
    kept.set(path, { ...entry, commands: entry.commands + 1 });
    paths.push(path);
  }
  return { release: () => [...notes, ...paths.splice(0).flatMap(letGo)] };
}

function letGo(path: string): string[] {
  const entry = kept.get(path);
  if (entry === undefined) return [];
  if (entry.commands > 1) kept.set(path, { ...entry, commands: entry.commands - 1 });
  else kept.delete(path);
  return restoreLink(path, entry.target);
}

function restoreLink(path: string, target: string): string[] {
  if (linkAt(path) === target) return [];
  try {
    // Nothing contains this: a command that may move the folder must not have it done elsewhere.
    if (realpathSync(dirname(path)) !== dirname(path)) throw new Error('its folder was replaced by a link');
    const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
    const aside = `${path}.replaced-${randomUUID().slice(0, 8)}`;
    if (isThere) renameSync(path, aside);
    symlinkSync(target, path);
    const now = isThere ? ` What was put in its place is ${aside} now.` : '';
    return [`${path} is protected: it is the link to ${target} again that it was.${now}`];
  } catch (error) {
    return [`${path} is protected, and could not be made the link to ${target} again that it was: ${error}.`];
  }
}
