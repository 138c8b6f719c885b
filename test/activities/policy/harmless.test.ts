import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { judgeCommand } from '../../../activities/policy/harmless.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 });

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-harmless-'));
  writeFileSync(join(folder, 'a.txt'), 'one\ntwo\n');
  symlinkSync('/proc', join(folder, 'p'));
  symlinkSync('/proc/self/environ', join(folder, 'innocent.txt'));
  symlinkSync('/', join(folder, 'all'));
  for (const name of ['links', 'other']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'other/a.txt'), 'one\n');
  symlinkSync('/proc/self/environ', join(folder, 'links/a.txt'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const harmless = (command: string | string[]) => judgeCommand(command, folder).harmless;

test.each([
  'ls',
  'ls -la a.txt',
  'cat a.txt',
  'cat -n a.txt | head -5',
  'head -n 5 a.txt && tail -3 a.txt',
  'wc -l a.txt; pwd',
  "grep -rn 'two' .",
  'grep -A3 -e two a.txt',
  'rg --hidden -n -g "*.ts" two .',
  "find . -name '*.txt' -type f -maxdepth 2",
  "find . ! -name x -size +1k -printf '%p\\n'",
  "sed -n '1,20p' a.txt",
  "sed -n '$p' a.txt",
  'echo hello world',
  "printf '%s\\n' a",
  "printf '%5d-%%n %s\\n' 3 name",
  // Names that no file can have are patterns.
  `rg -n '${'a|'.repeat(200)}' .`,
  'cat a.txt/x',
  'date +%s',
  'stat -c %s a.txt',
  'sort -n a.txt | uniq -c',
  'git status -sb',
  'git --no-pager log --oneline -5',
  'git diff --stat -- a.txt',
  'cat /dev/null',
  'diff -u a.txt other/a.txt',
  'ls -R links',
  'grep -r x links',
  ["bash -lc 'ls'"].join(''),
])('plain reading is harmless: %s', (line) => {
  if (line.startsWith('bash')) expect(harmless(['bash', '-lc', 'ls -l | wc -l'])).toBe(true);
  else expect(judgeCommand(line, folder)).toMatchObject({ harmless: true });
});

test.each([
  'rm a.txt',
  'touch x',
  'cat a.txt > b.txt',
  'ls $(touch x)',
  '/bin/ls',
  './ls',
  'sh -c ls',
  'bash -c ls',
  'env ls',
  'xargs rm',
  'ls | xargs rm',
  // A shell's own printf sets variables, and runs what stands in their index.
  "printf -v 'x[$(touch pwned)]' a",
  'printf -v PATH %s ./bin && ls',
  'printf abc%n PATH && ls',
  "printf '%-2ln' PATH",
  'ls | sh',
  'X=1 ls',
  'LD_PRELOAD=./x.so ls',
  'find . -delete',
  'find . -exec rm {} +',
  "find . -exec rm '{}' ';'",
  'find . -execdir id',
  'find . -ok id',
  'find . -fprint x',
  'find . -fprintf x y',
  'find . -fls x',
  'find -L . -name x',
  'find -files0-from a.txt',
  'grep -R x .',
  // What follows the links in folders may end in /proc.
  'diff -r links other',
  'diff -rN links other',
  'diff links other',
  'diff links a.txt',
  'ls -lL links',
  'ls --dereference links',
  'du -L links',
  'tree -l links',
  'rg --pre id x',
  'rg --pre=id x',
  'rg --hostname-bin id x',
  'rg -z x',
  'rg -L x',
  'rg --follow x',
  'sed -i s/a/b/ a.txt',
  "sed -n '1w x' a.txt",
  "sed -n '1e id' a.txt",
  "sed '1p' a.txt",
  "sed -n '1p' -i a.txt",
  "sed -n '1p;w x' a.txt",
  'sort -o a.txt a.txt',
  'sort --output=x a.txt',
  'sort --outp=x a.txt',
  'sort --compress-program=id a.txt',
  'sort -T /x a.txt',
  'uniq a.txt b.txt',
  'tail -f a.txt',
  'tail --follow a.txt',
  'tree -o x',
  'date -s 2020-01-01',
  'date 01010000',
  'date --set=2020-01-01',
  'file -C -m x',
  'git push',
  'git -c core.pager=id status',
  'git --exec-path=. status',
  'git -C /x status',
  'git diff --output=x',
  'git diff --outp=x',
  'git diff --ext-diff',
  'git diff --no-index a b',
  'git log --output x',
  'git show --textconv',
  'git status -v',
  'git status --verbose',
  // An option that would pass for the value of the one before, and the other way round.
  'git log --pretty --output=x',
  'git diff -U --output=x',
  'git log -G -- --output=x',
  'rg -T -- --pre=id x',
  'git log --ext-diff',
  'git branch -D main',
  'git grep -O id',
  'git commit -m x',
  'git constructor',
  'constructor',
  'toString x',
  '__proto__',
  'hostname evil',
  'whoami x',
  'ps e',
  'awk 1',
  'perl -e 1',
  'cat /proc/self/environ',
  'cat /proc/1/environ',
  'cat ../../../../../../proc/self/environ',
  'cat p/self/environ',
  'cat innocent.txt',
  'cat all/proc/self/environ',
  'ls -l /dev/fd/3',
  'cat /dev/zero',
  'grep -f /proc/self/environ a.txt',
  'grep --file=/proc/self/environ a.txt',
  'grep -r x /',
  'grep -r x all',
  'rg x /',
  'find /',
  'find / -name environ',
  'du -s /',
  'git diff /proc/self/environ a.txt',
  'cd / && rg x',
  'export A=1',
  'eval ls',
  'exec ls',
  'source a.txt',
  '. a.txt',
  'time ls',
  'if true; then ls; fi',
  'function ls { id; }',
  'alias ls=id',
  'command ls',
  'tee x',
])('what could do more than read is not harmless: %s', (line) => {
  expect(judgeCommand(line, folder)).toMatchObject({ harmless: false });
});

test('arguments are judged word by word when they come as a list', () => {
  expect(harmless(['ls', '-l', 'a; rm b'])).toBe(true);
  expect(harmless(['rm', 'x'])).toBe(false);
  expect(harmless(['bash', '-lc', 'rm x'])).toBe(false);
  expect(harmless(['bash', '-c', 'ls', 'rm'])).toBe(false);
  expect(harmless([''])).toBe(false);
  expect(harmless(['cat', 'a\0b'])).toBe(false);
});

test('no harmless command, however it is put together, changes the folder it runs in', () => {
  const words = fc.constantFrom(
    ...['ls', 'cat', 'find', 'sed', 'git', 'grep', 'rg', 'sort', 'uniq', 'echo', 'tail', 'diff', 'tree'],
    ...[
      '-n',
      '-i',
      '-o',
      '-w',
      '-delete',
      '-exec',
      '-r',
      '-f',
      '--output',
      '--output=out',
      'status',
      'diff',
      'log',
    ],
    ...[
      'a.txt',
      'out',
      '.',
      '1p',
      "'1w out'",
      '|',
      '&&',
      ';',
      '>',
      '$(touch out)',
      '`touch out`',
      '&',
      '-name',
      '--',
      '1',
    ],
  );
  const before = readdirSync(folder);
  fc.assert(
    fc.property(fc.array(words, { minLength: 1, maxLength: 6 }), (parts) => {
      const judged = judgeCommand(parts.join(' '), folder);
      fc.pre(judged.harmless);
      if (!judged.harmless) return;
      try {
        execFileSync('/bin/sh', ['-c', judged.script], { cwd: folder, stdio: 'ignore', timeout: 10_000 });
      } catch {
        // That it fails is fine.
      }
      expect(readdirSync(folder)).toEqual(before);
    }),
    { numRuns: 40, maxSkipsPerRun: 1_000 },
  );
});

function repository(): string {
  const repo = mkdtempSync(join(folder, 'repo-'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=n', '-c', 'user.email=e', ...args], { cwd: repo, stdio: 'ignore' });
  git('init', '-q');
  writeFileSync(join(repo, 'f.txt'), 'a\n');
  git('add', '.');
  git('commit', '-qm', 'first');
  writeFileSync(join(repo, 'f.txt'), 'b\n');
  return repo;
}

test.each([
  ['core.fsmonitor', 'touch pwned'],
  ['diff.external', 'touch pwned'],
  ['core.pager', 'touch pwned'],
  ['core.hooksPath', 'hooks'],
])('a repository whose %s is a program does not get it run', (key, value) => {
  const repo = repository();
  execFileSync('git', ['config', key, value], { cwd: repo });
  for (const line of [
    'git status',
    'git diff',
    'git log -p',
    'git show',
    'git ls-files',
    'git rev-parse --show-toplevel',
  ]) {
    const judged = judgeCommand(line, repo);
    if (!judged.harmless) throw new Error(judged.reason);
    execFileSync('/bin/sh', ['-c', judged.script], { cwd: repo, stdio: 'ignore' });
  }
  expect(readdirSync(repo)).not.toContain('pwned');
});

test.each([
  '[filter "x"]\n\tclean = touch pwned',
  '[core] bare = false\n[core][filter "x"]clean = id',
  '[include]\n\tpath = other',
  '[includeIf "gitdir:/"]\n\tpath = other',
  '[gpg]\n\tprogram = id',
  '[extensions]\n\tworktreeConfig = true',
  '[remote "o"]\n\tpromisor = true',
  '[diff "t"]\n\ttextconv = touch pwned',
  '[diff.t]\n\ttextconv = touch pwned',
  '[lfs "extension.x"]\n\tclean = id',
  '[pretty]\n\tx = %G?',
  '[core]\n\tworktree = /proc/self',
  '[core]\n\tattributesFile = /dev/zero',
  '[core]\n\tbare = false \\\n[filter "x"]',
  '[new]\n\tx = y',
])('git is not harmless in a repository with settings that could run programs: %j', (settings) => {
  const repo = repository();
  writeFileSync(join(repo, '.git', 'config'), settings);
  expect(judgeCommand('git status', repo).harmless).toBe(false);
  mkdirSync(join(repo, 'sub'));
  expect(judgeCommand('git log', join(repo, 'sub')).harmless).toBe(false);
});

test('settings that ordinary clones have do not keep git from being harmless', () => {
  const repo = repository();
  const settings = [
    '[core]\n\trepositoryformatversion = 0\n\tbare = false',
    '[remote "origin"]\n\turl = https://example.org/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*',
    '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main',
    '[user]\n\tname = me',
    '[lfs]\n\trepositoryformatversion = 0\n[lfs "https://example.org/x/info/lfs"]\n\taccess = basic',
    '[credential]\n\thelper = store\n[credential "https://example.org"]\n\tusername = me',
    '[http "https://example.org/"]\n\textraheader = AUTHORIZATION: basic x',
    '[url "git@example.org:"]\n\tinsteadOf = https://example.org/',
    '[gitflow "branch"]\n\tmaster = main',
    '[difftool "x"]\n\tcmd = touch pwned\n[mergetool]\n\tkeepBackup = false',
    '[svn-remote "svn"]\n\turl = https://example.org\n[i18n]\n\tcommitEncoding = utf-8',
  ].join('\n');
  writeFileSync(join(repo, '.git', 'config'), `${settings}\n`);
  const judged = judgeCommand('git status && git diff', repo);
  expect(judged).toMatchObject({ harmless: true });
  execFileSync('/bin/sh', ['-c', judged.harmless ? judged.script : 'exit 1'], { cwd: repo, stdio: 'ignore' });
  expect(readdirSync(repo)).not.toContain('pwned');
});

/** What anybody can commit: a folder that git takes for a repository. */
function bareIn(folder: string, config: string): void {
  for (const part of ['objects', 'refs']) mkdirSync(join(folder, part), { recursive: true });
  writeFileSync(join(folder, 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(join(folder, 'config'), config);
}

test('a folder that is a repository itself is none in which git only reads, be it reached by a link or from below', () => {
  const repo = repository();
  const evil = join(repo, 'vendor/evil');
  bareIn(evil, '[core]\n\tworktree = ..\n[filter "x"]\n\tclean = touch pwned\n');
  mkdirSync(join(evil, 'sub'));
  symlinkSync('vendor/evil/sub', join(repo, 'docs'));
  for (const cwd of [evil, join(evil, 'sub'), join(repo, 'docs')])
    expect(judgeCommand('git status', cwd)).toMatchObject({ harmless: false });
  expect(judgeCommand('git status', repo)).toMatchObject({ harmless: true });
});

test('what stands for .git and is no repository does not hide the one that git would find', () => {
  const outer = mkdtempSync(join(folder, 'outer-'));
  mkdirSync(join(outer, '.git'));
  writeFileSync(join(outer, '.git', 'config'), '[core]\n\tbare = false\n');
  expect(judgeCommand('git status', outer).harmless).toBe(false);
});

test('settings that are a pipe are not waited for', () => {
  const repo = repository();
  rmSync(join(repo, '.git/config'));
  execFileSync('/bin/sh', ['-c', 'mkfifo .git/config'], { cwd: repo });
  expect(judgeCommand('git status', repo).harmless).toBe(false);
});

test('what leads to an open file of a process is no ordinary file, though no path says so', () => {
  const link = join(folder, 'open');
  symlinkSync(`/proc/${process.pid}/fd/0`, link);
  expect(judgeCommand('cat open', folder).harmless).toBe(false);
  rmSync(link);
});

test('ripgrep obeys no file of settings', () => {
  expect(judgeCommand('rg two', folder)).toMatchObject({ script: "'rg' '--no-config' 'two'" });
});

test('settings as git writes them are known', () => {
  const repo = repository();
  for (const [key, value] of [
    ['remote.origin.url', 'https://example.com/a.git'],
    ['remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*'],
    ['branch.main.merge', 'refs/heads/main'],
    ['user.name', 'A "quoted" name; and more'],
    ['core.hooksPath', '.husky'],
  ] as const)
    execFileSync('git', ['config', key, value], { cwd: repo });
  expect(judgeCommand('git status', repo)).toMatchObject({ harmless: true });
});
