import { createHash } from 'node:crypto';
import type { PinnedProgram } from '../../server/pinned.ts';
import type { Way } from '../../server/ways.ts';

/** A program that only says its version. */
export const programSaying = (version: string): string => `#!/bin/sh\necho '${version}'\n`;

/** A program that is pinned to the given content, on this platform alone. */
export function pinnedAs(content: string, ways: readonly Way[]): PinnedProgram {
  const digest = createHash('sha256').update(content).digest('hex');
  return {
    name: 'temporal',
    title: 'the server',
    version: '9.9.9',
    megabytes: 1,
    sha256: { [`${process.platform}-${process.arch}`]: digest },
    ways,
    hint: 'Put it there by hand.',
  };
}

export const NOTHING_BROUGHT: Way = {
  name: 'the way that fails',
  fetch: async () => {
    throw new Error('nobody is there');
  },
};
