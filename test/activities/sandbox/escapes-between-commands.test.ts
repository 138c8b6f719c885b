import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { linksOn } from '../../../activities/sandbox/links-on.ts';
import { fillableFolders } from '../../../activities/sandbox/outside-path.ts';
import { PIPES_PREFIX } from '../../../activities/sandbox/pipes-folder.ts';
import { probeBubblewrap } from '../../../activities/sandbox/probe-bubblewrap.ts';
import { watchdog } from '../../../activities/sandbox/watchdog.ts';
import { foldersTo, writableRoots } from '../../../activities/sandbox/writable-places.ts';
import { shell } from '../../../activities/tools/shell.ts';
import { contextIn } from '../tools/tool-context.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

/** Escapes in steps: what one command leaves is to have the next one, or its worker, write outside. */
const state = await probeBubblewrap();
const WORKER = fileURLToPath(new URL('./command-worker.ts', import.meta.url));

let outside: string;
/** In `/tmp`, as a whole writable. */
let top: string;
beforeEach(() => {
  outside = mkdtempSync('/var/tmp/cadre-between-');
  top = mkdtempSync('/tmp/cadre-between-');
  writeFileSync(join(outside, 'precious'), 'untouched');
});
afterEach(() => {
  rmSync(outside, { recursive: true, force: true });
  rmSync(top, { recursive: true, force: true });
});

interface Place {
  folder: string;
  stateDir?: string;
  roots?: string[];
}

/** What the model is told; in the words of the refusal where the command was not run. */
async function run(command: string, { folder, stateDir = join(outside, 'state'), roots = [] }: Place) {
  const context = contextIn(folder, {
    settings: { sandbox: { writable_roots: roots, network: false } } as object,
  });
  const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: outside };
  const parsed = shell.parameters.parse({ command, timeout_ms: 60_000 });
  const result = await Promise.resolve(shell.run(parsed, { ...context, stateDir, environment })).catch(
    (error: Error) => error.message,
  );
  return typeof result === 'string' ? result : result.output;
}

function expectUntouched(): void {
  expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('untouched');
  expect(readdirSync(outside).filter((name) => name !== 'work' && name !== 'state')).toEqual(['precious']);
}

describe.skipIf(!state.works)('in steps', () => {
  test('a link in the place of a writable root that is missing opens nothing', async () => {
    const folder = join(outside, 'work');
    mkdirSync(folder);
    const place = { folder, roots: [join(folder, 'cache')] };
    await run('ln -s .. cache && echo linked', place);
    expect(linksOn(join(folder, 'cache'))).toEqual([join(folder, 'cache')]);
    await run('echo x > ../precious; echo x > ../new', place);
    expectUntouched();
    // The rest of the folder is as it was.
    expect(await run('echo fine > here && cat here', place)).toContain('fine');
  });

  test('a folder on the way to the working directory cannot be moved, nor a link put in its place', async () => {
    const folder = join(top, 'x', 'a', 'work');
    mkdirSync(folder, { recursive: true });
    const step = `mv ${top}/x/a ${top}/x/c; mv ${top}/x ${top}/y; mkdir -p ${top}/x; ln -s ${outside} ${top}/x/a; true`;
    await run(step, { folder });
    expect(realpathSync(folder)).toBe(folder);
    await run(`echo x > ${top}/x/a/precious; echo x > precious`, { folder });
    expectUntouched();
  });

  test('nor a folder with the repository that is the working directory, and not one with CADRE_HOME', async () => {
    const folder = join(top, 'x', 'repository');
    mkdirSync(join(folder, '.git', 'hooks'), { recursive: true });
    const stateDir = join(top, 'y', 'home');
    mkdirSync(stateDir, { recursive: true });
    const place = { folder, stateDir };
    await run(`mv ${top}/x ${top}/moved; mkdir -p ${top}/x/repository; mv ${top}/y ${top}/kept; true`, place);
    await run(
      `echo x > ${top}/moved/repository/.git/hooks/post-commit; echo x > ${top}/kept/home/x; true`,
      place,
    );
    expect(existsSync(join(folder, '.git', 'hooks', 'post-commit'))).toBe(false);
    expect(existsSync(join(stateDir, 'x'))).toBe(false);
    expect(readdirSync(top).toSorted()).toEqual(['x', 'y']);
  });

  test('a repository that is made in the working directory takes no protection away from the one around it', async () => {
    const repository = join(top, 'r');
    const folder = join(repository, 'sub');
    mkdirSync(join(repository, '.git', 'hooks'), { recursive: true });
    mkdirSync(folder);
    await run('mkdir .git && touch .git/made', { folder });
    expect(existsSync(join(folder, '.git', 'made'))).toBe(true);
    const step =
      'echo x > ../.git/hooks/post-commit; mkdir -p ../.claude/agents; mv ../.git ../.git2 && mkdir ../.git; true';
    await run(step, { folder });
    expect(existsSync(join(repository, '.git', 'hooks', 'post-commit'))).toBe(false);
    expect(readdirSync(repository).toSorted()).toEqual(['.git', 'sub']);
    expect(fillableFolders(folder)).toContain(repository);
  });

  test('a protected link whose way is led out of the folder has nothing made outside', async () => {
    const folder = join(outside, 'work');
    mkdirSync(folder);
    symlinkSync(join(outside, 'state'), join(folder, 'x'));
    mkdirSync(join(outside, 'state'));
    symlinkSync('x/agents', join(folder, '.claude'));
    await run('rm x', { folder });
    expect(readdirSync(join(outside, 'state'))).toEqual(['links']);
    expect(readdirSync(join(outside, 'state', 'links'))).toEqual([]);
  });

  test('a protected link that one command has replaced is not what the next one, beside it, takes for right', async () => {
    const folder = join(outside, 'work');
    mkdirSync(join(folder, 'shared'), { recursive: true });
    symlinkSync('shared', join(folder, '.claude'));
    const until = (name: string) => `until [ -e ${name} ]; do sleep 0.1; done`;
    const first = run(`rm .claude; mkdir evil; ln -s evil .claude; touch replaced; ${until('second')}`, {
      folder,
    });
    await vi.waitFor(() => expect(existsSync(join(folder, 'replaced'))).toBe(true), { timeout: 60_000 });
    const second = run(`echo x > shared/x; touch second; ${until('end')}`, { folder });
    await first;
    expect(readlinkSync(join(folder, '.claude'))).toBe('shared');
    writeFileSync(join(folder, 'end'), '');
    expect(await second).toContain('Read-only');
    expect(readlinkSync(join(folder, '.claude'))).toBe('shared');
  });

  test.each(['ends', 'is killed'])('nor where the first is of another worker, which %s', async (how) => {
    const folder = join(outside, 'work');
    const place = { folder };
    mkdirSync(join(folder, 'shared'), { recursive: true });
    symlinkSync('shared', join(folder, '.claude'));
    const line =
      'rm .claude; mkdir evil; ln -s evil .claude; touch replaced; until [ -e end ]; do sleep 0.1; done';
    const other = spawn(process.execPath, [WORKER, folder, join(outside, 'state'), line], {
      stdio: 'inherit',
    });
    const ended = once(other, 'exit');
    await vi.waitFor(() => expect(existsSync(join(folder, 'replaced'))).toBe(true), { timeout: 60_000 });
    if (how === 'is killed') {
      other.kill('SIGKILL');
      await ended;
    }
    const second = run('touch begun; until [ -e over ]; do sleep 0.1; done', place);
    await vi.waitFor(() => expect(existsSync(join(folder, 'begun'))).toBe(true), { timeout: 60_000 });
    expect(readlinkSync(join(folder, '.claude'))).toBe('shared');
    writeFileSync(join(folder, 'end'), '');
    await ended;
    writeFileSync(join(folder, 'over'), '');
    expect(await second).toContain('.claude is protected: it is the link to shared again');
    expect(readlinkSync(join(folder, '.claude'))).toBe('shared');
    expect(readdirSync(join(outside, 'state', 'links'))).toEqual([]);
  });

  test('a protected link is not put back where its folder was moved meanwhile, and another one has its name', async () => {
    const folder = join(top, 'work');
    mkdirSync(folder);
    symlinkSync('shared', join(folder, '.claude'));
    mkdirSync(join(outside, 'state', '.claude'), { recursive: true });
    const command = run('touch begun; until [ -e end ]; do sleep 0.1; done', { folder });
    await vi.waitFor(() => expect(existsSync(join(folder, 'begun'))).toBe(true), { timeout: 60_000 });
    // As a command of another agent could, to which the folder is none of its own.
    renameSync(folder, join(top, 'moved'));
    symlinkSync(join(outside, 'state'), folder);
    writeFileSync(join(top, 'moved', 'end'), '');
    await command;
    expect(readdirSync(join(outside, 'state')).toSorted()).toEqual(['.claude', 'links']);
    expectUntouched();
  });

  test('a working directory with a name like the folders of others is not hidden from its commands', async () => {
    const folder = mkdtempSync('/tmp/ssh-cadre-');
    try {
      writeFileSync(join(folder, 'old'), '');
      expect(await run('ls; echo x > new', { folder })).toContain('old');
      expect(existsSync(join(folder, 'new'))).toBe(true);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('nothing is run where a working directory has become a link all the same', async () => {
    mkdirSync(join(outside, 'work'));
    symlinkSync(join(outside, 'work'), join(top, 'link'));
    expect(await run('echo x > x', { folder: join(top, 'link') })).toContain('is reached through the link');
    expect(readdirSync(join(outside, 'work'))).toEqual([]);
  });

  test('the pipes of workers are in no folder that a command sees', async () => {
    const folder = join(outside, 'work');
    mkdirSync(folder);
    const { folder: pipes } = watchdog;
    expect(existsSync(pipes)).toBe(true);
    // Where there is no shared memory of the machine, they lie in /tmp.
    const instead = mkdtempSync(`/tmp/${PIPES_PREFIX}`);
    writeFileSync(join(instead, 'pipe'), '');
    try {
      for (const roots of [[], ['/dev/shm'], ['/']]) {
        const seen = await run(
          `ls -A ${pipes} ${instead}; ln -s ${outside}/precious ${pipes}/stolen; rm -f ${instead}/pipe; mv ${instead} /tmp/elsewhere; true`,
          { folder, roots },
        );
        expect(seen).not.toContain('\npipe');
        expect(existsSync(join(pipes, 'stolen'))).toBe(false);
        expect(existsSync(join(instead, 'pipe'))).toBe(true);
      }
    } finally {
      rmSync(instead, { recursive: true, force: true });
    }
  });
});

test('what cannot be looked at is no link', () => {
  expect(linksOn(join(outside, 'a'.repeat(300), 'x'))).toEqual([]);
  expect(linksOn(join(outside, 'precious', 'x'))).toEqual([]);
});

test('the links on a path are told by where they lie, in the order in which they are followed', () => {
  mkdirSync(join(outside, 'a', 'b'), { recursive: true });
  symlinkSync('a/b', join(outside, 'relative'));
  symlinkSync(join(outside, 'relative'), join(outside, 'a', 'b', 'absolute'));
  symlinkSync('round', join(outside, 'round'));
  expect(linksOn(join(outside, 'a', 'b'))).toEqual([]);
  expect(linksOn(`${outside}/relative/../b/absolute/missing`)).toEqual(
    ['relative', 'a/b/absolute', 'relative'].map((name) => join(outside, name)),
  );
  expect(linksOn(join(outside, 'round')).length).toBeGreaterThan(40);
});

test('only folders of writable roots are on the way, and none that are the sandbox’s own', () => {
  expect(foldersTo(['/tmp/x/y/z', '/srv/a/b'], ['/tmp', '/tmp/x/y/z'])).toEqual(['/tmp/x/y', '/tmp/x']);
  expect(foldersTo(['/run/user/0/x', '/home/u/x'], ['/'])).toEqual(['/home/u', '/home']);
});

test('a root behind a link that lies in a root is left out, and one behind another link is not', () => {
  mkdirSync(join(outside, 'work'));
  mkdirSync(join(outside, 'more'));
  symlinkSync(join(outside, 'more'), join(outside, 'work', 'inner'));
  symlinkSync(join(outside, 'more'), join(outside, 'outer'));
  const roots = (path: string) => writableRoots(join(outside, 'work'), [path]);
  expect(roots(join(outside, 'work', 'inner'))).not.toContain(join(outside, 'more'));
  expect(roots(join(outside, 'outer'))).toContain(join(outside, 'more'));
});
