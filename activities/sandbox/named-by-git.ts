import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isSpecialPlace, readOrdinaryFile } from '../ordinary-file.ts';
import { repositoriesAround } from './has-repository.ts';
import { isWithin } from './is-within.ts';
import { settingsFolders } from './protected-paths.ts';

const SECTION = /^\s*\[\s*([\w.-]+)[^\]]*\]?/;
const SETTING = /^(?:\[[^\]]*\]\s*)?([\w-]+)\s*=\s*(.*)$/;

/**
 * What the settings of repositories around these folders name besides, and git obeys as it does them: a folder with
 * hooks (`core.hooksPath`), further settings (`include.path`). It may lie among the files that commands change.
 */
export function namedByGit(folders: readonly string[]): string[] {
  const repositories = new Set(folders.flatMap(repositoriesAround));
  const named = [...repositories].flatMap((root) =>
    settingsFolders(root)
      .flatMap((folder) => [join(folder, 'config'), join(folder, 'config.worktree')])
      .flatMap((file) => namedIn(file, root)),
  );
  // Hooks are switched off by /dev/null, and a whole working directory stays writable.
  return named.filter((path) => !isSpecialPlace(path) && !folders.some((folder) => isWithin(folder, path)));
}

function namedIn(file: string, root: string): string[] {
  let section = '';
  return textOf(file)
    .split('\n')
    .flatMap((line) => {
      section = SECTION.exec(line)?.[1]?.toLowerCase() ?? section;
      const [, key = '', value = ''] = SETTING.exec(line.trim()) ?? [];
      const name = `${section}.${key.toLowerCase()}`;
      if (name === 'core.hookspath') return pathIn(root, value);
      if (name !== 'include.path' && name !== 'includeif.path') return [];
      // In the place of a missing one no folder may stand, not even for a while: git would refuse to work.
      return pathIn(dirname(file), value).filter((path) => existsSync(path));
    });
}

function pathIn(folder: string, value: string): string[] {
  const plain = /^"(.*?)"/.exec(value)?.[1] ?? value.replace(/\s[;#].*$/, '');
  const path = plain.replaceAll('\\', '').replace(/^~(?=\/)/, homedir());
  return path === '' ? [] : [resolve(folder, path)];
}

function textOf(file: string): string {
  try {
    return readOrdinaryFile(file).bytes.toString();
  } catch {
    return '';
  }
}
