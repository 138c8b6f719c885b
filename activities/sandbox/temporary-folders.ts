import { tmpdir, userInfo } from 'node:os';
import { isWithin } from './is-within.ts';
import { realPaths } from './real-paths.ts';

/** On macOS each user has one of their own, too, which programs ask the system for, whatever `TMPDIR` says. */
export function temporaryFolders(): string[] {
  if (process.platform !== 'darwin') return ['/tmp'];
  const own = realPaths([tmpdir()]).filter((path) => isWithin(path, '/private/var/folders'));
  return ['/tmp', ...own];
}

/** Also the one that the person has said, wherever it lies: whether commands may write there is another matter. */
export function isTemporaryFolder(folder: string): boolean {
  const real = realPaths([folder]);
  return realPaths([...temporaryFolders(), tmpdir()]).some((temporary) => real.includes(temporary));
}

/**
 * Where programs that a person starts keep, among temporary files, compiled code, which they run without a second look:
 * Node itself (npm, tsc, anything that asks it to) and what loads TypeScript in it.
 */
export function codeCaches(): string[] {
  const { uid } = userInfo();
  return ['node-compile-cache', `v8-compile-cache-${uid}`, `tsx-${uid}`, 'jiti', 'node-jiti'];
}
