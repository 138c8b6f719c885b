import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { CadreError } from '../protocol/index.ts';
import { ensureCacheFolder } from './home.ts';
import type { PinnedProgram } from './pinned.ts';
import { putWhole } from './whole-file.ts';

export interface FetchOptions {
  /** Where the program is to be. */
  target: string;
  onProgress?: ((text: string) => void) | undefined;
}

/**
 * Brings a pinned program: checks its digest and puts it in place whole, so that two processes may do it at once.
 *
 * @throws CadreError `server_unavailable` that names every way and what became of it
 */
export async function fetchProgram(program: PinnedProgram, options: FetchOptions): Promise<void> {
  const { target, onProgress } = options;
  const platform = `${process.platform}-${process.arch}`;
  const expected = program.sha256[platform];
  if (expected === undefined) throw unavailable(program, [`it is not known for ${platform}`]);
  ensureCacheFolder(dirname(target));
  const folder = await mkdtemp(join(dirname(resolve(target)), 'bringing-'));
  const problems: string[] = [];
  try {
    for (const way of program.ways) {
      onProgress?.(`Bringing ${program.title} (once, ${program.megabytes} MB) from ${way.name} …`);
      try {
        const bytes = await way.fetch(folder, onProgress);
        const actual = createHash('sha256').update(bytes).digest('hex');
        if (actual !== expected) throw new Error(`its checksum is ${actual}, not ${expected}`);
        return await putWhole(target, bytes, 0o755);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        problems.push(`${way.name}: ${reason.split('\n')[0]}`);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  throw unavailable(program, problems);
}

function unavailable(program: PinnedProgram, problems: string[]): CadreError {
  return new CadreError(
    'server_unavailable',
    `There is no \`${program.name}\` here, and ${program.title} ${program.version} could not be brought: ${problems.join('; ')}.`,
    { hint: program.hint, retryable: true },
  );
}
