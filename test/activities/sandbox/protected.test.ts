import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { guardedFolders, roleFolders } from '../../../activities/roles/role-folders.ts';
import { hasRepository } from '../../../activities/sandbox/has-repository.ts';
import { probeBubblewrap } from '../../../activities/sandbox/probe-bubblewrap.ts';
import { shell } from '../../../activities/tools/shell.ts';
import type { AgentSettings } from '../../../protocol/index.ts';
import { contextIn } from '../tools/tool-context.ts';
import { eventually } from './processes.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const state = await probeBubblewrap();
const NAMES = ['.agents', '.cadre', '.claude', '.codex', '.git'];

let outside: string;
let work: string;
beforeEach(() => {
  outside = mkdtempSync('/var/tmp/cadre-protected-');
  work = join(outside, 'work');
  mkdirSync(work);
});
afterEach(() => rmSync(outside, { recursive: true, force: true }));

async function run(command: string, folder = work, settings: Partial<AgentSettings> = {}) {
  const result = await shell.run(shell.parameters.parse({ command }), {
    ...contextIn(folder, { settings }),
    stateDir: join(outside, 'state'),
  });
  return typeof result === 'string' ? result : result.output;
}

function git(folder: string, ...args: string[]): void {
  const identity = ['-c', 'user.name=n', '-c', 'user.email=e@e', '-c', 'protocol.file.allow=always'];
  execFileSync('git', [...identity, ...args], { cwd: folder, stdio: 'pipe' });
}

const TRIES = NAMES.map(
  (name) =>
    `mkdir -p ${name}/hooks ${name}/agents; echo x > ${name}/hooks/pre-commit; rm -rf ${name}; mv ${name} gone; ln -s . ${name}; umount ${name}; echo x > ${name}`,
).join('; ');

describe.skipIf(!state.works)('hooks and settings that a repository keeps among its files', () => {
  test.each(['hooks', 'deep/missing/hooks'])('are neither changed nor made: %s', async (path) => {
    git(work, 'init', '-q');
    git(work, 'config', 'core.hooksPath', path);
    mkdirSync(join(work, 'hooks'));
    mkdirSync(join(work, 'sub'));
    const step = `mkdir -p ${path} && printf '#!/bin/sh\\ntouch escaped' > ${path}/pre-commit && chmod +x ${path}/pre-commit`;
    const [first] = path.split('/');
    await run(`${step}; mv ${first} h; mkdir ${first}; ${step}`);
    await run(`cd ..; ${step}`, join(work, 'sub'));
    git(work, 'commit', '--allow-empty', '-qm', 'x');
    expect(existsSync(join(work, 'escaped'))).toBe(false);
    expect(readdirSync(work).toSorted()).toEqual(['.git', 'hooks', 'sub']);
    expect(await run('echo fine > beside && cat beside')).toContain('fine');
  });

  test('are not included from what commands write', async () => {
    git(work, 'init', '-q');
    writeFileSync(join(work, 'shared.gitconfig'), '[core]\n');
    git(work, 'config', 'include.path', '../shared.gitconfig');
    symlinkSync('shared.gitconfig', join(work, 'link'));
    git(work, 'config', '--add', 'include.path', '../link');
    await run('echo "[alias] x = !touch escaped" > shared.gitconfig; rm link; cp /dev/null link; true');
    expect(readFileSync(join(work, 'shared.gitconfig'), 'utf8')).toBe('[core]\n');
    expect(readlinkSync(join(work, 'link'))).toBe('shared.gitconfig');
  });

  test('are not looked for where hooks are switched off', async () => {
    git(work, 'init', '-q');
    git(work, 'config', 'core.hooksPath', '/dev/null');
    const open = { sandbox: { writable_roots: ['/'], network: false } };
    expect(await run('echo x > /dev/null && echo fine', work, open)).toContain('fine');
  });
});

describe.skipIf(!state.works)('what is protected', () => {
  test('cannot be made where it is missing, and nothing is left of it', async () => {
    const output = await run(`${TRIES}; git init; echo y > ordinary; ls -A`);
    expect(output).toContain('Read-only file system');
    expect(readdirSync(work)).toEqual(['ordinary']);
  });

  test('is guarded until the last of commands that run side by side has ended', async () => {
    const slow = run('until [ -e go ]; do sleep 0.1; done; mkdir -p .git/hooks .claude/agents; echo end');
    expect(await eventually(() => existsSync(join(work, '.git')))).toBe(true);
    await Promise.all(Array.from({ length: 8 }, () => run('true')));
    expect(readdirSync(work).toSorted()).toEqual(NAMES);
    writeFileSync(join(work, 'go'), '');
    expect(await slow).toContain('Read-only file system');
    expect(readdirSync(work)).toEqual(['go']);
  });

  test('is guarded beside commands of another worker, and what a killed one leaves goes with the next command', async () => {
    const other = spawn(process.execPath, [WORKER, work], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(other.stdout, 'data');
    await run('true');
    expect(readdirSync(work).toSorted()).toEqual(NAMES);
    other.kill('SIGKILL');
    await once(other, 'exit');
    await run('true');
    expect(readdirSync(work)).toEqual([]);
  });

  test('is left alone where somebody fills it meanwhile', async () => {
    const running = run('until [ -e go ]; do sleep 0.1; done');
    expect(await eventually(() => existsSync(join(work, '.claude')))).toBe(true);
    writeFileSync(join(work, '.claude', 'settings.json'), '{}');
    git(work, 'init', '-q');
    writeFileSync(join(work, 'go'), '');
    await running;
    expect(readdirSync(work).toSorted()).toEqual(['.claude', '.git', 'go']);
    expect(readdirSync(join(work, '.claude'))).toEqual(['settings.json']);
  });

  test('and empty stays, where it was there before', async () => {
    mkdirSync(join(work, '.claude'));
    await run('true');
    expect(readdirSync(work)).toEqual(['.claude']);
  });

  test('makes nobody take the folder for a repository', async () => {
    mkdirSync(join(work, 'sub'));
    const running = run('until [ -e go ]; do sleep 0.1; done');
    expect(await eventually(() => existsSync(join(work, '.git')))).toBe(true);
    expect(hasRepository(work)).toBe(false);
    expect(roleFolders(join(work, 'sub'), '/nowhere').map(({ path }) => path)).not.toContain(
      join(work, '.cadre', 'agents'),
    );
    writeFileSync(join(work, 'go'), '');
    await running;
  });

  test('inside a repository the real one is still found', async () => {
    git(outside, 'init', '-q');
    expect(await run('git rev-parse --show-toplevel')).toContain(`${outside}\n`);
    expect(readdirSync(work)).toEqual([]);
  });

  test('holds in the folders of a repository in /tmp, above the working directory', async () => {
    const top = mkdtempSync('/tmp/cadre-protected-');
    const sub = join(top, 'sub');
    mkdirSync(sub);
    git(top, 'init', '-q');
    const name = top.split('/').at(-1);
    await run(
      `cd ..; echo x > .git/hooks/pre-commit; mkdir -p .claude/agents; mv /tmp/${name} /tmp/${name}-2; mv .git away; true`,
      sub,
    );
    expect(existsSync(join(top, '.git', 'hooks', 'pre-commit'))).toBe(false);
    expect(readdirSync(top).toSorted()).toEqual(['.git', 'sub']);
    rmSync(top, { recursive: true });
  });

  test('holds in the root of a repository whose subfolder is the working directory, whatever else is writable', async () => {
    const sub = join(work, 'sub');
    mkdirSync(join(work, '.claude', 'agents'), { recursive: true });
    mkdirSync(sub);
    git(work, 'init', '-q');
    for (const roots of [[], [work], [outside], [join(work, 'sub')]]) {
      await run(
        'cd ..; echo x > .claude/agents/explorer.md; mkdir -p .codex/agents .cadre/agents; mv .claude aside; true',
        sub,
        { sandbox: { writable_roots: roots, network: false } },
      );
      expect(readdirSync(work).toSorted(), roots.join()).toEqual(['.claude', '.git', 'sub']);
      expect(readdirSync(join(work, '.claude', 'agents'))).toEqual([]);
    }
    // Roles are trusted nowhere but there.
    expect(NAMES).toEqual(
      expect.arrayContaining(guardedFolders(sub).map((path) => path.slice(work.length + 1))),
    );
  });

  test('holds in a project that the person trusts, wherever around it an agent works', async () => {
    const trusted = join(work, 'deep', 'trusted');
    mkdirSync(join(trusted, '.claude', 'agents'), { recursive: true });
    mkdirSync(join(trusted, 'src'));
    git(trusted, 'init', '-q');
    const folders = [{ path: trusted, config_sha256: null, trusted_at: '2026-01-01T00:00:00Z' }];
    mkdirSync(join(outside, 'state'));
    const trust = (list: object[]) =>
      writeFileSync(join(outside, 'state', 'trusted.json'), JSON.stringify({ folders: list }));
    const plant =
      'cd deep/trusted; echo x > .claude/agents/explorer.md; mkdir -p .cadre/agents; mv ../../deep ../../gone; echo x > src/new; true';
    trust([...folders, { ...folders[0], path: join(outside, 'gone') }]);
    await run(plant);
    expect(readdirSync(trusted).toSorted()).toEqual(['.claude', '.git', 'src']);
    expect(readdirSync(join(trusted, '.claude', 'agents'))).toEqual([]);
    expect(readdirSync(join(trusted, 'src'))).toEqual(['new']);
    trust([]);
    await run('echo x > deep/trusted/.claude/agents/explorer.md');
    expect(readdirSync(join(trusted, '.claude', 'agents'))).toEqual(['explorer.md']);
  });

  test('is also the repository that the .git file of a worktree or a submodule names', async () => {
    const main = join(work, 'main');
    mkdirSync(main);
    git(main, 'init', '-q');
    git(main, 'commit', '-q', '--allow-empty', '-m', 'first');
    git(main, 'worktree', 'add', '-q', join(work, 'tree'));
    const tries = 'echo x > main/.git/hooks/pre-commit; echo x >> main/.git/worktrees/tree/HEAD; echo end';
    const before = readFileSync(join(main, '.git', 'worktrees', 'tree', 'HEAD'), 'utf8');
    writeFileSync(join(work, '.git'), readFileSync(join(work, 'tree', '.git')));
    expect(await run(`${tries}; echo x > .git; rm .git`)).toContain('end\n');
    expect(existsSync(join(main, '.git', 'hooks', 'pre-commit'))).toBe(false);
    expect(readFileSync(join(main, '.git', 'worktrees', 'tree', 'HEAD'), 'utf8')).toBe(before);
    expect(readFileSync(join(work, '.git'), 'utf8')).toContain('gitdir: ');
  });

  test('and a link is that link again after the command, what was put in its place is kept aside', async () => {
    const shared = join(outside, 'shared');
    mkdirSync(shared);
    symlinkSync(shared, join(work, '.claude'));
    symlinkSync('later', join(work, '.agents'));
    const output = await run('rm .claude; mkdir -p .claude/agents; mkdir -p later/x; rm .agents');
    expect(readlinkSync(join(work, '.claude'))).toBe(shared);
    expect(readlinkSync(join(work, '.agents'))).toBe('later');
    expect(output).toMatch(
      /\.claude is protected: it is the link to .*shared again that it was\. What was put/,
    );
    expect(readdirSync(work).filter((name) => name.startsWith('.claude.replaced-'))).toHaveLength(1);
    expect(existsSync(join(work, 'later'))).toBe(false);
  });
});

const WORKER = fileURLToPath(new URL('./holding-worker.ts', import.meta.url));
