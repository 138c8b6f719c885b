import { realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { CadreError } from '../../protocol/index.ts';

/**
 * Checks the folder that a call asks for: another one than the parent's needs an approval, and nobody can be asked.
 *
 * @throws CadreError `invalid_arguments` when it is no folder, `approval_unavailable` when it differs
 */
export async function checkWorkingDirectory(wanted: string, parents: string): Promise<void> {
  if (wanted.includes('\0'))
    throw new CadreError('invalid_arguments', 'The working_directory contains a NUL byte.');
  const path = resolve(parents, wanted.replace(/^~(?=\/|$)/, homedir()));
  const real = await realpath(path).catch((error: NodeJS.ErrnoException) => {
    throw new CadreError('invalid_arguments', `The working_directory ${path} ${reasonOf(error)}.`);
  });
  if (!(await stat(real)).isDirectory()) {
    throw new CadreError('invalid_arguments', `The working_directory ${path} is not a folder.`);
  }
  const realParents = await realpath(parents).catch(() => join(parents));
  if (real === realParents) return;
  throw new CadreError(
    'approval_unavailable',
    `Another working_directory than yours (${parents}) needs an approval, and nobody can be asked: ${real}.`,
    { hint: 'Leave working_directory out and name the folder in the task instead.' },
  );
}

function reasonOf(error: NodeJS.ErrnoException): string {
  return error.code === 'ENOENT' ? 'does not exist' : `cannot be used (${error.code})`;
}
