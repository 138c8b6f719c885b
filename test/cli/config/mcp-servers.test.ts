import { realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { serversIn } from '../../../cli/config/mcp-servers.ts';
import { folderWith } from '../../support/folders.ts';

/** A repository and a home, side by side. */
function machine() {
  const root = realpathSync(
    folderWith({ 'repo/.git/HEAD': '', 'repo/sub/keep': '', 'repo/bin/keep': '', 'home/bin/keep': '' }),
  );
  const at = (...parts: string[]) => join(root, ...parts);
  symlinkSync(at('repo/bin'), at('home/linked'));
  return { root, at, place: { cwd: at('repo/sub'), home: at('home'), searchPath: '/usr/bin:/bin' } };
}

test('a server that is not told where is given no folder of the session; a relative one is below it', () => {
  const { at, place } = machine();
  const servers = { a: { command: 'x' }, b: { command: 'x', cwd: '.' }, c: { command: 'x', cwd: '~/notes' } };
  expect(serversIn(place, servers)).toEqual({
    a: { command: 'x' },
    b: { command: 'x', cwd: at('repo/sub') },
    c: { command: 'x', cwd: at('home/notes') },
  });
});

test('its program is not looked up where the repository, or an agent in it, could have put one', () => {
  const { at, place } = machine();
  const searchPath = [
    at('repo/sub/.venv/bin'),
    at('repo/bin'),
    at('home/linked'),
    at('home/bin'),
    '/usr/bin',
  ].join(':');
  const servers = {
    a: { command: 'x' },
    b: { command: 'x', env: { PATH: '/own' } },
    c: { url: 'http://127.0.0.1' },
  };
  expect(serversIn({ ...place, searchPath }, servers)).toEqual({
    a: { command: 'x', env: { PATH: `${at('home/bin')}:/usr/bin` } },
    b: { command: 'x', env: { PATH: '/own' } },
    c: { url: 'http://127.0.0.1' },
  });
});

test('who works in a folder that holds their home keeps the programs that they have installed', () => {
  const { root, at, place } = machine();
  const searchPath = `${at('home/bin')}:/usr/bin`;
  expect(serversIn({ ...place, cwd: root, searchPath }, { a: { command: 'x' } })).toEqual({
    a: { command: 'x' },
  });
});
