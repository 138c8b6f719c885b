import { rm } from 'node:fs/promises';
import { CadreError, type KeyRing } from '../protocol/index.ts';
import { keepOutput } from './handle-files.ts';
import { type LostImage, lostImages } from './images.ts';
import { Rollout } from './rollout.ts';
import type { Rollouts } from './rollouts.ts';

export interface ImportOptions {
  keys: KeyRing | undefined;
  /** Another rollout of the same session gives way. */
  replace: boolean;
  /** Where the session is to go on; default: the queue that it lived on. */
  queue?: string | undefined;
}

export interface Imported {
  rollout: Rollout;
  /** Where it lies now. */
  path: string;
  /** The queue whose workers find it there. */
  queue: string;
  /** The same one was there. */
  already: boolean;
  /** Images of its conversations that are not here as they were. */
  lost: LostImage[];
}

/**
 * Takes a rollout in from a file, with the outputs that it brings along, to where those look for it who bring the
 * session back. All of it is checked first.
 *
 * @throws CadreError `rollout_invalid`, `key_missing`, or `rollout_exists` where another one of the session is here
 */
export async function importRollout(
  file: string,
  rollouts: Rollouts,
  { keys, replace, queue: wanted }: ImportOptions,
): Promise<Imported> {
  const rollout = await Rollout.open(file, keys);
  const { session_id: session } = rollout.header;
  const queue = wanted ?? rollout.header.queue;
  const path = rollouts.placeFor(session, queue);
  const others: string[] = [];
  let already = false;
  for (const at of rollouts.pathsOf(session)) {
    const there = await thereAt(at, keys, replace);
    if (there?.sha256 !== rollout.sha256) {
      if (there !== undefined && !replace) throw exists(there, rollout);
      others.push(at);
    } else if (at === path) already = true;
  }
  for (const handle of rollout.handles) {
    const line = await rollout.output(handle);
    if (line !== undefined) await keepOutput(rollouts.stateDir, line);
  }
  if (!already) await rollouts.write(rollout.header, rollout.body(), path);
  // In another folder it might be found first.
  for (const at of others) if (at !== path) await rm(at, { force: true });
  const lost = await lostImages(rollout, rollouts.stateDir);
  return { rollout, path, queue, already, lost };
}

/** @returns undefined for one that cannot be read, and is to give way anyway */
async function thereAt(
  path: string,
  keys: KeyRing | undefined,
  replace: boolean,
): Promise<Rollout | undefined> {
  try {
    return await Rollout.open(path, keys);
  } catch (error) {
    if (!(error instanceof CadreError)) throw error;
    if (replace) return undefined;
    const hint = `Nothing was changed. ${error.hint ?? ''} ${WITH_REPLACE}`.replaceAll('  ', ' ');
    throw new CadreError(error.code, error.message, { hint, cause: error });
  }
}

const WITH_REPLACE = '`cadre import FILE --replace` puts the file in its place.';

function exists(there: Rollout, given: Rollout): CadreError {
  const [old, fresh] = [there, given].map(({ header }) => header.written_at);
  return new CadreError(
    'rollout_exists',
    `Another rollout of ${given.header.session_id} is there (written ${old}, the file ${fresh}): ${there.path}`,
    { hint: `Nothing was changed. ${WITH_REPLACE}` },
  );
}
