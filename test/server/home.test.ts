import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cadreHome, ensureFolder } from '../../server/home.ts';
import { folderWith } from '../support/folders.ts';

test('CADRE_HOME is made with everything above it, and found again', () => {
  const home = join(folderWith(), 'a', 'b');
  expect(ensureFolder(home, 'sessions')).toBe(join(home, 'sessions'));
  expect(ensureFolder(home, 'sessions')).toBe(join(home, 'sessions'));
});

test.skipIf(!existsSync('/proc/self'))('where not even root may make a folder, that is said at once', () => {
  expect(() => ensureFolder('/proc/nowhere/home')).toThrow(
    expect.objectContaining({
      code: 'home_unwritable',
      message: expect.stringContaining('/proc/nowhere/home'),
    }),
  );
});

test('an empty CADRE_HOME counts as unset', () => {
  expect(cadreHome({ CADRE_HOME: '' })).toBe(cadreHome({}));
});
