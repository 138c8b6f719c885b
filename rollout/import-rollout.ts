import { CadreError, type KeyRing } from '../protocol/index.ts';
import { keepOutput } from './handle-files.ts';
import { type LostImage, lostImages } from './images.ts';
import { Rollout } from './rollout.ts';
import type { Rollouts } from './rollouts.ts';

export interface Imported {
  rollout: Rollout;
  /** Where it lies now. */
  path: string;
  /** The same one was there. */
  already: boolean;
  /** Images of its conversations that are not here as they were. */
  lost: LostImage[];
}

/**
 * Takes a rollout in from a file, with the outputs that it brings along. All of it is checked first.
 *
 * @param replace another rollout of the same session
 * @throws CadreError `rollout_invalid`, `key_missing`, or `rollout_exists` where another one is there
 */
export async function importRollout(
  file: string,
  rollouts: Rollouts,
  keys: KeyRing | undefined,
  replace: boolean,
): Promise<Imported> {
  const rollout = await Rollout.open(file, keys);
  const { session_id: session } = rollout.header;
  const there = await thereOf(rollouts, session, replace);
  const already = there !== undefined && there.sha256 === rollout.sha256;
  if (there !== undefined && !already && !replace) throw exists(session, there, rollout);
  for (const handle of rollout.handles) {
    const line = await rollout.output(handle);
    if (line !== undefined) await keepOutput(rollouts.stateDir, line);
  }
  const lost = await lostImages(rollout, rollouts.stateDir);
  if (already) return { rollout, path: there.path, already, lost };
  return { rollout, path: await rollouts.write(rollout.header, rollout.body()), already, lost };
}

async function thereOf(
  rollouts: Rollouts,
  session: Rollout['header']['session_id'],
  replace: boolean,
): Promise<Rollout | undefined> {
  try {
    return await rollouts.find(session);
  } catch (error) {
    if (replace && error instanceof CadreError) return undefined;
    throw error;
  }
}

function exists(session: string, there: Rollout, given: Rollout): CadreError {
  const [old, fresh] = [there, given].map(({ header }) => header.written_at);
  return new CadreError(
    'rollout_exists',
    `Another rollout of ${session} is there (written ${old}, the file ${fresh}): ${there.path}`,
    { hint: 'Nothing was changed. `cadre import FILE --replace` puts the file in its place.' },
  );
}
