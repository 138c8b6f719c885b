import { expect, test } from 'vitest';
import { tellIfUncontained } from '../../cli/sandbox-notice.ts';
import type { SandboxMode } from '../../protocol/index.ts';

async function told(mode: SandboxMode, works: boolean): Promise<string[]> {
  const lines: string[] = [];
  await tellIfUncontained({ warn: (line) => lines.push(line) }, mode, async () =>
    works
      ? { works, detail: 'bubblewrap 1.0' }
      : { works, detail: 'bubblewrap is not installed', hint: 'Install it: apt-get install bubblewrap' },
  );
  return lines;
}

test('who has no sandbox is told in one line, and how to get one', async () => {
  expect(await told('workspace-write', false)).toEqual([
    'No sandbox: bubblewrap is not installed. Install it: apt-get install bubblewrap',
  ]);
});

test('nothing is told where it works, or where none is wanted', async () => {
  expect(await told('read-only', true)).toEqual([]);
  expect(await told('danger-full-access', false)).toEqual([]);
});
