import { takeTurn } from '../sandbox/machine-names.ts';

/**
 * Does what reads and writes files for a patch while no other patch of this person does, in whatever process of the machine:
 * between a last look at a file and its replacement another one would be lost. Where the turn does not come within ten
 * seconds, as when a disk hangs, it is done all the same: that last look still finds nearly all that others have changed.
 *
 * @throws the reason of `signal` when it aborts while others have the turn; what `work` throws
 */
export async function inPatchTurn<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  const end = await takeTurn(`cadre-patch-turn-${process.getuid?.() ?? 0}`, signal).catch(() => undefined);
  try {
    signal?.throwIfAborted();
    return await work();
  } finally {
    await end?.();
  }
}
