import { resolve } from 'node:path';
import { CadreError, counted, localSessionOf, workerCommand } from '../../protocol/index.ts';
import { importRollout } from '../../rollout/import-rollout.ts';
import { Rollouts } from '../../rollout/rollouts.ts';
import { cadreHome, ensureFolder } from '../../server/home.ts';
import { loadKeys } from '../config/encryption.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { withRegularFile } from '../regular-file.ts';

/** Takes a session's rollout in, to where `resume` and the workers of its queue find it. Asks no server. */
export default async function importCommand(
  invocation: Invocation,
  [file]: [string],
  { replace = false }: { replace?: boolean },
): Promise<ExitCode> {
  const { output, environment, options } = invocation;
  const { config } = await invocation.loadConfig();
  const keys = loadKeys(config.encryption, environment);
  const stateDir = ensureFolder(cadreHome(environment));
  const { directory } = config.rollouts;
  const rollouts = new Rollouts({ stateDir, directory, keys });
  const path = resolve(invocation.cwd, file);
  const imported = await withRegularFile({ file, cwd: invocation.cwd, folder: stateDir }, (at) =>
    importRollout(at, rollouts, { keys, replace, queue: options.queue }),
  ).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  const { rollout, already, queue, lost } = imported;
  const { session_id } = rollout.header;
  const agents = rollout.agents.length;
  output.result(
    { session_id, agents, lines: rollout.lines, file: imported.path, already, lost_images: lost },
    `${already ? 'already here' : 'imported'}: ${session_id}, ${counted(agents, 'agent')}`,
  );
  for (const { agent_id: id, path, problem } of lost) output.warn(lostWarning(id, path, problem));
  if (localSessionOf(queue) === undefined && directory === undefined) {
    output.warn(
      `the workers of the queue ${queue} find it in ${imported.path} only where they have the same CADRE_HOME: name the folder of their rollouts with [rollouts] directory, here and there (${workerCommand(queue)}).`,
    );
  }
  const at = options.queue === undefined ? '' : ` --queue ${options.queue}`;
  output.info(`Bring it back with: cadre resume ${session_id}${at}`);
  return EXIT.done;
}

function lostWarning(id: string, path: string, problem: string): string {
  return `An image in the conversation of ${id} is not here as it was: ${path}: ${problem}.`;
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'it may not be read',
};

function unreadable(path: string, error: unknown): unknown {
  const { code, path: at } = (error ?? {}) as { code?: string; path?: string };
  const reason = UNREADABLE[code ?? ''];
  if (reason === undefined || (at !== undefined && at !== path)) return error;
  return new CadreError('usage', `${path} cannot be imported: ${reason}.`, {
    hint: 'Name a file that `cadre export` has written.',
  });
}
