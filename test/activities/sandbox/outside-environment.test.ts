import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { harmlessEnvironment, outsideEnvironment } from '../../../activities/sandbox/outside-environment.ts';

function home(): string {
  const folder = realpathSync(mkdtempSync('/var/tmp/cadre-environment-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['work/lib', 'lib']) mkdirSync(join(folder, name), { recursive: true });
  for (const name of ['work/first', 'first', '.gitconfig']) writeFileSync(join(folder, name), '');
  return folder;
}

test('what runs outside loads and obeys what the person has, and not what lies where an agent works', () => {
  const own = home();
  const work = join(own, 'work');
  const from = (environment: Record<string, string>) => outsideEnvironment(environment, [work]);
  expect(
    from({
      PATH: `${work}:/usr/bin`,
      LD_LIBRARY_PATH: `:${work}/lib:lib:${own}/lib`,
      LD_PRELOAD: `${work}/first ${own}/first`,
      BASH_ENV: `${work}/first`,
      ENV: `${own}/first`,
      PYTHONPATH: `${work}:.:${own}/lib`,
      NODE_PATH: `${work}/lib`,
      NODE_OPTIONS: `--require ${own}/first --import=tsx`,
      RUBYOPT: '-w',
      JAVA_TOOL_OPTIONS: `-javaagent:${work}/first`,
      NAME: `${work}:x`,
    }),
  ).toEqual({
    PATH: '/usr/bin',
    LD_LIBRARY_PATH: `${own}/lib`,
    LD_PRELOAD: `${own}/first`,
    ENV: `${own}/first`,
    PYTHONPATH: `${own}/lib`,
    RUBYOPT: '-w',
    NAME: `${work}:x`,
  });
});

test('for what only reads no variable names what to run, and no settings are obeyed that an agent could write', () => {
  const own = home();
  const environment = {
    HOME: own,
    LD_LIBRARY_PATH: '',
    GIT_DIR: 'x',
    GIT_EXTERNAL_DIFF: './x',
    RIPGREP_CONFIG_PATH: 'x',
    LANG: 'C',
  };
  const kept = harmlessEnvironment(environment, [join(own, 'work')]);
  expect(Object.keys(kept).sort()).toEqual(['GIT_NO_LAZY_FETCH', 'HOME', 'LANG', 'PATH']);
  expect(harmlessEnvironment(environment, [own]).GIT_CONFIG_GLOBAL).toBe('/dev/null');
});
