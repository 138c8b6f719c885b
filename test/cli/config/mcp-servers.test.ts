import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { serversIn } from '../../../cli/config/mcp-servers.ts';

const place = {
  cwd: '/usr/local',
  home: '/home/me',
  searchPath: '/usr/bin',
  variables: {},
  writableRoots: [],
};

test('a server that is not told where is given no folder of the session; a relative one is below it', () => {
  const servers = { a: { command: 'x' }, b: { command: 'x', cwd: '.' }, c: { command: 'x', cwd: '~/notes' } };
  expect(serversIn(place, servers)).toEqual({
    a: { command: 'x' },
    b: { command: 'x', cwd: '/usr/local' },
    c: { command: 'x', cwd: '/home/me/notes' },
  });
});

test('its program is not looked up where the repository, or an agent in it, could have put one', () => {
  const servers = {
    a: { command: 'x' },
    b: { command: 'x', env: { PATH: '/own' } },
    c: { url: 'http://127.0.0.1' },
  };
  expect(serversIn({ ...place, searchPath: '/usr/local/bin:/usr/bin' }, servers)).toEqual({
    a: { command: 'x', env: { PATH: '/usr/bin' } },
    b: { command: 'x', env: { PATH: '/own' } },
    c: { url: 'http://127.0.0.1' },
  });
});

test('nor where its commands may write besides', () => {
  const elsewhere = { ...place, cwd: '/usr/share', searchPath: '/usr/local/bin:/usr/bin' };
  const settled = (writableRoots: string[]) =>
    serversIn({ ...elsewhere, writableRoots }, { a: { command: 'x' } });
  expect(settled(['/usr/local'])).toEqual({ a: { command: 'x', env: { PATH: '/usr/bin' } } });
  expect(settled([])).toEqual({ a: { command: 'x' } });
});

test('in the home of the person, or around it, their own programs are found; what is opened besides stays out', () => {
  // Not below /tmp, where anybody may have put programs.
  const around = realpathSync(mkdtempSync('/var/tmp/cadre-home-'));
  onTestFinished(() => rmSync(around, { recursive: true, force: true }));
  const home = join(around, 'me');
  for (const folder of ['me/.local/bin', 'me/work/bin']) mkdirSync(join(around, folder), { recursive: true });
  symlinkSync(home, join(around, 'link'));
  const [own, work] = [join(home, '.local/bin'), join(home, 'work/bin')];
  const found = (cwd: string, writableRoots: string[] = []) => {
    const there = { cwd, home, searchPath: `${own}:${work}:/usr/bin`, variables: {}, writableRoots };
    return serversIn(there, { a: { command: 'x' } });
  };
  const all = { a: { command: 'x' } };
  for (const cwd of [home, `${home}/`, join(around, 'link'), around, '/']) expect(found(cwd)).toEqual(all);
  const withoutWork = { a: { command: 'x', env: { PATH: `${own}:/usr/bin` } } };
  expect(found(join(home, 'work'))).toEqual(withoutWork);
  expect(found(home, [join(home, 'work')])).toEqual(withoutWork);
  expect(found(home, [home])).toEqual({ a: { command: 'x', env: { PATH: '/usr/bin' } } });
});

test('nor are libraries, and what is loaded first, looked up where the repository could have put them', () => {
  const variables = {
    PYTHONPATH: '/usr/share:/usr/lib',
    NODE_PATH: '/usr/share',
    NODE_OPTIONS: '--max-old-space-size=99 --require=/usr/share',
    RUBYLIB: '/usr/lib',
    NAME: '/usr/share',
  };
  const { a } = serversIn({ ...place, cwd: '/usr/share', variables }, { a: { command: 'x' } });
  expect(a?.env).toEqual({ PYTHONPATH: '/usr/lib', NODE_PATH: '', NODE_OPTIONS: '' });
});
