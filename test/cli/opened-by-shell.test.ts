import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test, vi } from 'vitest';
import { environmentWithoutOpened } from '../../cli/opened-by-shell.ts';
import { folderWith } from '../support/folders.ts';
import { environmentIn, MAIN } from './run-cadre.ts';

vi.setConfig({ testTimeout: 120_000 });

/** `$CADRE` in a line for bash is the command. */
async function bash(folder: string, line: string) {
  const child = spawn('bash', ['-c', line], {
    cwd: folder,
    env: { ...environmentIn(folder), CADRE: `${process.execPath} ${MAIN}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await ended;
  return { code, stdout, stderr };
}

test.each([
  'CADRE_CONFIG=<(cat own.toml) $CADRE config',
  'cat own.toml | CADRE_CONFIG=/dev/stdin $CADRE config',
  'CADRE_CONFIG=/dev/stdin $CADRE config < own.toml',
])('%s shows what comes by the pipe', async (line) => {
  const folder = folderWith({ 'own.toml': 'sandbox_mode = "read-only"\n' });
  const { code, stdout, stderr } = await bash(folder, line);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/sandbox_mode\s.*read-only/);
});

test('settings that come by a pipe hold for everything that a command reads them for', async () => {
  const folder = folderWith({ 'own.toml': 'modell = "m"\n', 'keep/.cadre/config.toml': '' });
  // Reads the settings for the list, and for what is withheld: an unknown key is told by the second one, too.
  const { code, stderr } = await bash(folder, 'cat own.toml | CADRE_CONFIG=/dev/stdin $CADRE trust keep');
  expect(stderr).toContain('modell');
  expect(code).toBe(2);
});

test('a process that goes on without the command is told that nothing was opened for it', () => {
  expect(environmentWithoutOpened({ CADRE_CONFIG: '/dev/fd/63' }).CADRE_CONFIG).not.toBe('/dev/fd/63');
  const plain = { CADRE_CONFIG: '/etc/own.toml' };
  expect(environmentWithoutOpened(plain)).toBe(plain);
});

test('nothing starts that would be left at once to a process without them', async () => {
  const folder = folderWith({ 'own.toml': '' });
  const line = 'CADRE_CONFIG=<(cat own.toml) $CADRE run look --detach --json';
  const { code, stdout } = await bash(folder, line);
  expect(code).toBe(2);
  expect(JSON.parse(stdout).error).toMatchObject({ code: 'usage', hint: expect.stringContaining('a file') });
  expect(existsSync(join(folder, 'state'))).toBe(false);
});
