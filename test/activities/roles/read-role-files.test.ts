import { closeSync, openSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readRoleFiles } from '../../../activities/roles/read-role-files.ts';
import { folderWith } from '../../support/folders.ts';

const ROLE = '---\ndescription: Looks.\n---\nLook.\n';

/** A link among the roles of a trusted project to a file that is taken away while it is read. */
function linkToRemoved(file: string): { folder: string; roles: string } {
  const folder = realpathSync(folderWith({ [file]: ROLE, '.claude/agents/other.md': ROLE }));
  const roles = join(folder, '.claude/agents');
  const opened = openSync(join(folder, file), 'r');
  onTestFinished(() => closeSync(opened));
  rmSync(join(folder, file));
  symlinkSync(`/proc/self/fd/${opened}`, join(roles, 'explorer.md'));
  return { folder, roles };
}

const read = (folder: string, roles: string) =>
  readRoleFiles([{ path: roles, origin: 'project' }], (name) => name === 'explorer', [
    join(folder, '.claude'),
  ]);

test.skipIf(process.platform !== 'linux')(
  'a role that lies where agents may write counts as theirs also while it is replaced',
  async () => {
    const { folder, roles } = linkToRemoved('shared/explorer.md');
    expect(await read(folder, roles)).toMatchObject([{ ok: true, isStrange: true }]);
    // No name of theirs stands for it afterwards.
    symlinkSync(join(roles, 'other.md'), join(folder, 'shared/explorer.md (deleted)'));
    expect(await read(folder, roles)).toMatchObject([{ ok: true, isStrange: true }]);
  },
);

test.skipIf(process.platform !== 'linux')('one of the person stays theirs', async () => {
  const { folder, roles } = linkToRemoved('.claude/explorer.md');
  expect(await read(folder, roles)).toMatchObject([{ ok: true, isStrange: false }]);
});
