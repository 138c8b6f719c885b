import { realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type AgentSettings, CadreError } from '../../protocol/index.ts';
import { ApprovalNeeded } from '../tools/approval-needed.ts';

/**
 * The folder that a call asks for, links resolved; that of the parent, under whatever name, stays as it is.
 *
 * @throws CadreError `invalid_arguments` when it is no folder
 */
export async function findWorkingDirectory(wanted: string | undefined, parents: string): Promise<string> {
  if (wanted === undefined) return parents;
  if (wanted.includes('\0')) throw unusable('The working_directory contains a NUL byte.');
  const path = resolve(parents, wanted.replace(/^~(?=\/|$)/, homedir()));
  const real = await realpath(path).catch((error: NodeJS.ErrnoException) => {
    throw unusable(`The working_directory ${path} ${reasonOf(error)}.`);
  });
  if (!(await stat(real)).isDirectory()) {
    throw unusable(`The working_directory ${path} is not a folder.`);
  }
  const realParents = await realpath(parents).catch(() => join(parents));
  return real === realParents ? parents : real;
}

/** What a person is asked before an agent works in another folder than its parent. */
export function directoryApproval(
  folder: string,
  parents: string,
  child: Pick<AgentSettings, 'role' | 'sandbox_mode'>,
): ApprovalNeeded {
  const reach = child.sandbox_mode === 'read-only' ? 'work' : 'work, and may write,';
  return new ApprovalNeeded(
    {
      kind: 'directory',
      summary: `start an agent (${child.role}, sandbox ${child.sandbox_mode}) in ${folder}`,
      reason: `it would ${reach} in ${folder}, another folder than that of the agent that starts it (${parents})`,
      // Allowed for an agent that only reads, it is not allowed for one that writes.
      key: `${child.sandbox_mode} ${folder}`,
      path: folder,
    },
    {
      subject: 'Another working_directory than yours',
      hint: 'Leave working_directory out and name the folder in the task instead.',
    },
  );
}

function unusable(message: string): CadreError {
  return new CadreError('invalid_arguments', message, {
    hint: 'Name a folder that exists, or leave working_directory out: the new agent works in yours then.',
  });
}

function reasonOf(error: NodeJS.ErrnoException): string {
  return error.code === 'ENOENT' ? 'does not exist' : `cannot be used (${error.code})`;
}
