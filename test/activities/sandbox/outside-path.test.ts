import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fillableFolders, outsidePath, SYSTEM_PATH } from '../../../activities/sandbox/outside-path.ts';

function place(): { own: string; work: string } {
  const own = realpathSync(mkdtempSync('/var/tmp/cadre-path-'));
  onTestFinished(() => rmSync(own, { recursive: true, force: true }));
  for (const folder of ['bin', 'work/bin', 'work/in/bin', 'node_modules/.bin', 'cache/bin'])
    mkdirSync(join(own, folder), { recursive: true });
  return { own, work: join(own, 'work') };
}

test('what runs outside is taken from no folder that a repository or a contained command may fill', () => {
  const { own, work } = place();
  symlinkSync(join(work, 'bin'), join(own, 'to-work'));
  symlinkSync('/usr/bin', join(work, 'through-work'));
  symlinkSync(join(work, 'through-work'), join(own, 'by-work'));
  const path = [
    ...[join(work, 'bin'), join(own, 'to-work'), join(work, 'through-work'), join(own, 'by-work')],
    ...[`${own}/cache/../work/bin`, join(own, 'node_modules/.bin'), join(own, 'cache/bin'), '/tmp'],
    ...['', '.', 'bin', '~/bin', join(own, 'not-there'), join(own, 'bin'), '/usr/bin'],
  ].join(':');
  const fillable = fillableFolders(work, [join(own, 'cache')]);
  expect(outsidePath(path, fillable)).toBe(`${join(own, 'bin')}:/usr/bin`);
});

test('above the working directory it is the repository that may fill folders, unless it is the home of the person', () => {
  const { work } = place();
  const bin = join(work, 'bin');
  expect(outsidePath(bin, fillableFolders(join(work, 'in')))).toBe(bin);
  mkdirSync(join(work, '.git'));
  expect(outsidePath(`${bin}:/bin`, fillableFolders(join(work, 'in')))).toBe('/bin');
  expect(fillableFolders('/usr').includes(homedir())).toBe(false);
});

test('where nothing is left, programs of the system are; an empty PATH would mean the folder itself', () => {
  for (const path of [undefined, '', '.', '/tmp']) expect(outsidePath(path, ['/'])).toBe(SYSTEM_PATH);
});
