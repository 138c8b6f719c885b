import { CadreError } from '../../protocol/index.ts';
import { findProgram, isExecutable } from '../sandbox/outside-path.ts';

let known: string | undefined;

/**
 * The ripgrep that came with the package, else one on the PATH.
 *
 * @throws a CadreError that says how to get it
 */
export async function ripgrepProgram(path = process.env.PATH ?? ''): Promise<string> {
  known ??= (await bundled()) ?? onPath(path);
  if (known !== undefined) return known;
  throw new CadreError('tool_failed', 'ripgrep, which searches the files, is not installed.', {
    hint: 'A person can install it: npm install @vscode/ripgrep, or apt-get install ripgrep. Until then use shell with grep -rn.',
  });
}

async function bundled(): Promise<string | undefined> {
  try {
    const { rgPath } = await import('@vscode/ripgrep');
    return isExecutable(rgPath) ? rgPath : undefined;
  } catch {
    return undefined;
  }
}

/** Never from a folder that a repository may fill. */
export function onPath(path: string): string | undefined {
  return findProgram('rg', path);
}
