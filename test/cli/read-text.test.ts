import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderWith } from '../support/folders.ts';
import { MAIN } from './run-cadre.ts';

test('a task that is far too large is refused with its size, before anything is started', () => {
  const folder = folderWith({});
  const { status, stdout } = spawnSync(process.execPath, [MAIN, 'run', '--json'], {
    input: 'x'.repeat(3_000_000),
    env: { PATH: process.env.PATH, HOME: folder, CADRE_HOME: join(folder, 'state') },
    encoding: 'utf8',
  });
  const { error } = JSON.parse(stdout);
  expect(status).toBe(2);
  expect(error).toMatchObject({ code: 'usage', message: expect.stringContaining('3.00 MB') });
  expect(error.hint).toContain('file');
  expect(existsSync(join(folder, 'state'))).toBe(false);
});
