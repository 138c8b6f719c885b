import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { CadreError } from '../../protocol/errors.ts';
import { cadreHome } from '../../server/home.ts';
import { repositoryFile, userFile } from '../config/config-files.ts';
import { folderTrust } from '../config/folder-trust.ts';
import { formatKey, leaves, matches } from '../config/key-path.ts';
import { loadConfig } from '../config/load.ts';
import { problemsOf, throwProblems } from '../config/problems.ts';
import { SECRET_KEYS } from '../config/schema.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { columns, harmless } from '../terminal-text.ts';
import {
  revokeTrust,
  rootToRevoke,
  rootToTrust,
  trustedFolders,
  trustFolder,
} from '../trust/trust-folder.ts';

/** Lets a project's own settings and roles count as the person's, takes that back, or lists the projects that may. */
export default async function trust(
  invocation: Invocation,
  [given]: [string | undefined],
  options: { list?: boolean; revoke?: boolean },
): Promise<ExitCode> {
  const home = cadreHome(invocation.environment);
  if (options.list === true) return list(invocation, home, given);
  const folder = resolve(invocation.cwd, given ?? '.');
  return options.revoke === true ? revoke(invocation, home, folder) : grant(invocation, home, folder);
}

/** What is trusted is shown, so that nobody has to take it on trust. */
async function grant(invocation: Invocation, home: string, folder: string): Promise<ExitCode> {
  const root = rootToTrust(folder);
  const { file, withheld } = await settingsOf(invocation, root);
  await trustFolder(home, root, file?.digest);
  const settings = file === undefined ? [] : valuesOf(file.layer.values);
  const lines = [
    `trusted: ${harmless(root)}`,
    ...(file === undefined
      ? ['  it has no settings of its own now; the roles of its root may take the place of yours']
      : [
          `  ${harmless(file.show)} counts as your own settings from now on, as it is now:`,
          ...columns(settings.map(({ key, value }) => [key, harmless(JSON.stringify(value))])).map(
            (l) => `    ${l}`,
          ),
        ]),
  ];
  invocation.output.result(
    { folder: root, trusted: true, settings, withheld_before: withheld },
    lines.join('\n'),
  );
  return EXIT.done;
}

async function revoke(invocation: Invocation, home: string, folder: string): Promise<ExitCode> {
  const root = rootToRevoke(home, folder);
  const revoked = await revokeTrust(home, root);
  const text = `${revoked ? 'no longer trusted' : 'was not trusted'}: ${harmless(root)}`;
  invocation.output.result({ folder: root, trusted: false, revoked }, text);
  return EXIT.done;
}

function list(invocation: Invocation, home: string, given: string | undefined): ExitCode {
  if (given !== undefined) {
    throw new CadreError('usage', '--list takes no folder.', { hint: 'cadre trust --list' });
  }
  const trusted = trustedFolders(home).map((folder) => ({
    ...folder,
    state: stateOf(invocation, home, folder.path),
  }));
  invocation.output.result({ trusted }, () => {
    if (trusted.length === 0) return 'no folder is trusted';
    const rows = trusted.map(({ path, state, trusted_at: at }) => [harmless(path), state, at]);
    return columns([['FOLDER', 'STATE', 'SINCE'], ...rows]).join('\n');
  });
  return EXIT.done;
}

/** `gone`: nothing of it is there now, or it is part of another project. */
function stateOf({ environment }: Invocation, home: string, path: string): 'trusted' | 'changed' | 'gone' {
  try {
    const user = environment.HOME || homedir();
    const digest = repositoryFile(path, user, userFile(environment, user)?.path)?.digest;
    const { folder, state } = folderTrust(home, path, digest);
    return folder === path && state !== 'untrusted' ? state : 'gone';
  } catch {
    // The person's own settings are broken: nobody can tell.
    return 'changed';
  }
}

/** @throws CadreError `config_invalid` for settings that nobody could use */
async function settingsOf(invocation: Invocation, root: string) {
  const { environment } = invocation;
  const user = environment.HOME || homedir();
  const file = repositoryFile(root, user, userFile(environment, user)?.path);
  if (file?.broken !== undefined) throw file.broken;
  if (file !== undefined) throwProblems(problemsOf(file.layer));
  const { withheld } = await loadConfig({ cwd: root, environment });
  return { file, withheld };
}

function valuesOf(values: Parameters<typeof leaves>[0]): { key: string; value: unknown }[] {
  return leaves(values).map(([path, value]) => {
    const key = path[0] === 'profiles' ? path.slice(2) : path;
    return { key: formatKey(path), value: matches(key, SECRET_KEYS) ? '(hidden)' : value };
  });
}
