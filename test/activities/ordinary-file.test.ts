import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readOrdinaryFile } from '../../activities/ordinary-file.ts';
import { protectedNow } from '../../activities/sandbox/protected-paths.ts';
import { readTrusted } from '../../activities/trust/trusted-folders.ts';
import { readTomlFile } from '../../cli/config/toml-file.ts';
import { readSavedRules } from '../../cli/trust/saved-rules.ts';
import { folderWith } from '../support/folders.ts';

/** Each stands at `file` of a folder, and is to be refused at once: what ends the test here would be a wait for ever. */
const UNFIT: Record<string, (path: string) => void> = {
  'a device that never ends': (path) => symlinkSync('/dev/zero', path),
  'a pipe that nobody writes to': (path) => void execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', path]),
  'a folder': (path) => mkdirSync(path),
  'a link to itself': (path) => symlinkSync(path, path),
  'the environment of a process': (path) => symlinkSync('/proc/self/environ', path),
  'what the kernel logs': (path) => symlinkSync('/proc/kmsg', path),
  'far too much': (path) => {
    writeFileSync(path, '');
    truncateSync(path, 1024 * 1024 + 1);
  },
};

const onLinux = process.platform === 'linux';

test.skipIf(!onLinux).each(Object.entries(UNFIT))(
  '%s is refused by every reader of small files',
  (_, make) => {
    const folder = folderWith({ 'repo/keep': '' });
    const at = (name: string) => {
      make(join(folder, name));
      return join(folder, name);
    };
    expect(() => readOrdinaryFile(at('file'))).toThrow(/^(is|cannot be read)/);
    const config = at('config.toml');
    expect(readTomlFile(config)?.broken?.message).toContain(`${config}: `);
    at('trusted.json');
    expect(readTrusted(folder).problem).toContain('trusted.json is broken');
    at('rules.json');
    expect(readSavedRules(folder).problem).toContain('rules.json is broken');
    // Which repository a `.git` file names is looked up before every command.
    at('repo/.git');
    expect(protectedNow(join(folder, 'repo'))).toHaveLength(_ === 'a link to itself' ? 0 : 1);
  },
);

test('a regular file is read whole, also by a link and up to the last byte of what is allowed', () => {
  const folder = realpathSync(folderWith({ 'a/file': 'text', empty: '' }));
  symlinkSync(join(folder, 'a/file'), join(folder, 'link'));
  expect(readOrdinaryFile(join(folder, 'link'), 4)).toEqual({
    bytes: Buffer.from('text'),
    real: join(folder, 'a/file'),
  });
  expect(() => readOrdinaryFile(join(folder, 'link'), 3)).toThrow('is larger than');
  expect(readOrdinaryFile(join(folder, 'empty')).bytes).toHaveLength(0);
  expect(readOrdinaryFile('/dev/null').bytes).toHaveLength(0);
  expect(() => readOrdinaryFile(join(folder, 'none'))).toThrow('does not exist');
});

/** As a reader has a file open while another one takes its place. */
function replacedWhileOpen(path: string, by: string): string {
  const file = openSync(path, 'r');
  onTestFinished(() => closeSync(file));
  writeFileSync(`${path}.new`, by);
  renameSync(`${path}.new`, path);
  return `/proc/self/fd/${file}`;
}

test.skipIf(!onLinux)('a file that is replaced while it is read is there all the same', () => {
  const folder = realpathSync(folderWith({ 'config.toml': 'a = 1\n' }));
  const opened = replacedWhileOpen(join(folder, 'config.toml'), 'a = 2\n');
  expect(readOrdinaryFile(opened)).toEqual({
    bytes: Buffer.from('a = 1\n'),
    real: join(folder, 'config.toml'),
  });
  expect(readTomlFile(opened)?.values).toEqual({ a: 1 });
});

test.skipIf(!onLinux)('a name that only looks like that of a removed file is the name of the file', () => {
  const folder = realpathSync(folderWith({ 'a (deleted)': 'text' }));
  expect(readOrdinaryFile(join(folder, 'a (deleted)')).real).toBe(join(folder, 'a (deleted)'));
});
