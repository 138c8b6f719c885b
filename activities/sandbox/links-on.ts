import { dirname, join } from 'node:path';
import { linkAt } from './protected-paths.ts';

/** As many as the kernel follows. */
const MOST = 40;

/** The links that lead from a path to what it stands for, each by where it really lies. */
export function linksOn(path: string): string[] {
  return walk(path).links;
}

/** All by which a path is reached: links on the way, each by where it really lies, and last where it leads. */
export function reachedBy(path: string): string[] {
  const { links, end } = walk(path);
  return [...links, end];
}

function walk(path: string): { links: string[]; end: string } {
  const links: string[] = [];
  const rest = path.split('/');
  let at = '/';
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      at = dirname(at);
      continue;
    }
    const next = join(at, name);
    const target = linkAt(next);
    if (target === undefined) {
      at = next;
      continue;
    }
    links.push(next);
    if (links.length > MOST) break;
    rest.unshift(...target.split('/'));
    if (target.startsWith('/')) at = '/';
  }
  return { links, end: at };
}
