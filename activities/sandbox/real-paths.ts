import { realpathSync } from 'node:fs';

/** Links resolved; undefined where nothing is, or what was there is taken away meanwhile. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** Of those that are there. */
export function realPaths(paths: readonly string[]): string[] {
  return paths.flatMap((path) => realPath(path) ?? []);
}
