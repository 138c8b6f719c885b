import { randomUUID } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { isLeft, ownName } from '../file-owner.ts';
import { cannotProtect } from './placeholders.ts';
import { linkAt } from './protected-paths.ts';

/** Paths of links, with what each says. */
type Links = ReadonlyMap<string, string>;

const noteSchema = z.array(z.tuple([z.string(), z.string()]));

/**
 * Links cannot be mounted on: they are put back when a command has ended, and before another one begins, which would
 * otherwise take what the first has put there for what always was. So each command notes in a file below CADRE_HOME what
 * its links said before the first of them; what a killed worker has left is put right by the next command.
 *
 * To be called by whoever has the turn (see `contain`): no command is between its look at the links and its note then.
 *
 * @param find the links that the command has to leave as they are, with what they say
 * @returns what puts them back; both tell what was done, a sentence each
 * @throws CadreError when they cannot be noted
 */
export async function keepLinks(stateDir: string, find: () => Links): Promise<{ release(): string[] }> {
  const folder = join(stateDir, 'links');
  const told: string[] = [];
  const before = new Map<string, string>();
  for (const { note, owner } of notesIn(folder)) {
    for (const [path, target] of linksOf(note)) {
      told.push(...restoreLink(path, target));
      before.set(path, target);
    }
    if (await isLeft(note, owner)) rmSync(note, { force: true });
  }
  // A command beside this one may have replaced it once more.
  const links = new Map([...find()].map(([path, target]) => [path, before.get(path) ?? target]));
  if (links.size === 0) return { release: () => told };
  const note = join(folder, `${randomUUID()}.${await ownName()}.json`);
  write(note, links);
  return {
    release() {
      told.push(...[...links].flatMap(([path, target]) => restoreLink(path, target)));
      rmSync(note, { force: true });
      return told;
    },
  };
}

function notesIn(folder: string): { note: string; owner: string }[] {
  try {
    return readdirSync(folder).map((name) => ({ note: join(folder, name), owner: name.split('.')[1] ?? '' }));
  } catch {
    return [];
  }
}

/** Nothing where it was not written whole: then its command never began. */
function linksOf(note: string): Links {
  try {
    return new Map(noteSchema.parse(JSON.parse(readFileSync(note, 'utf8'))));
  } catch {
    return new Map();
  }
}

function write(note: string, links: Links): void {
  try {
    mkdirSync(dirname(note), { recursive: true, mode: 0o700 });
    writeFileSync(note, JSON.stringify([...links]), { mode: 0o600 });
  } catch (error) {
    throw cannotProtect([...links.keys()].join(', '), error);
  }
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
