import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { probeBubblewrap } from '../../../activities/sandbox/probe-bubblewrap.ts';
import { codeCaches } from '../../../activities/sandbox/temporary-folders.ts';
import { writableRoots } from '../../../activities/sandbox/writable-places.ts';
import { applyPatch } from '../../../activities/tools/apply-patch.ts';
import { ApprovalNeeded } from '../../../activities/tools/approval-needed.ts';
import { shell } from '../../../activities/tools/shell.ts';
import { contextIn } from '../tools/tool-context.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

/** What Cadre, or another program of the person, runs or obeys outside of any sandbox stays as it is. */
const { works } = await probeBubblewrap();

let outside: string;
let work: string;
beforeEach(() => {
  outside = realpathSync(mkdtempSync('/var/tmp/cadre-own-'));
  work = join(outside, 'work');
  mkdirSync(join(work, 'cache'), { recursive: true });
  writeFileSync(join(work, 'cache', 'program'), 'as it was');
  writeFileSync(join(work, 'config.toml'), 'as it was');
});
afterEach(() => rmSync(outside, { recursive: true, force: true }));

const own = () => ({
  stateDir: join(outside, 'state'),
  readOnly: [join(work, 'cache'), join(work, 'config.toml')],
});

async function run(command: string, folder = work, places: object = own()): Promise<string> {
  const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: outside };
  const context = { ...contextIn(folder), ...places, environment };
  const result = await shell.run(shell.parameters.parse({ command, timeout_ms: 60_000 }), context);
  return typeof result === 'string' ? result : result.output;
}

describe.skipIf(!works)('a command', () => {
  test.each([
    'echo x > cache/program',
    'echo x > cache/new',
    'rm -rf cache',
    'mv cache other',
    'echo x > config.toml',
    'rm -f config.toml',
    'echo x > c && mv c config.toml',
    'mv config.toml elsewhere',
  ])('changes nothing that the worker says is its own: %s', async (line) => {
    const output = await run(line);
    expect(output).not.toContain('Exit code 0');
    expect(readFileSync(join(work, 'cache', 'program'), 'utf8')).toBe('as it was');
    expect(readdirSync(join(work, 'cache'))).toEqual(['program']);
    expect(readFileSync(join(work, 'config.toml'), 'utf8')).toBe('as it was');
    expect(await run('echo fine > beside && cat beside')).toContain('fine');
  });

  test.each(codeCaches())('leaves no code for other programs in /tmp/%s', async (name) => {
    const wasThere = existsSync(join('/tmp', name));
    expect(await run(`mkdir -p /tmp/${name}; echo x > /tmp/${name}/planted`)).toMatch(/Read-only|Permission/);
    expect(await run(`rm -rf /tmp/${name} && mkdir /tmp/${name}`)).not.toContain('Exit code 0');
    expect(existsSync(join('/tmp', name, 'planted'))).toBe(false);
    // Another command, of another test, may hold it right now.
    await vi.waitFor(() => expect(existsSync(join('/tmp', name))).toBe(wasThere), { timeout: 60_000 });
  });

  test('leaves no code for other programs where the person has them keep temporary files', async () => {
    vi.stubEnv('TMPDIR', join(work, 'temporary'));
    mkdirSync(join(work, 'temporary'));
    try {
      const name = 'temporary/node-compile-cache';
      expect(await run(`mkdir -p ${name}; echo x > ${name}/planted`)).toContain('Read-only');
      expect(await run('mkdir temporary/.git temporary/fine && ls -A temporary')).toContain('fine');
      expect(readdirSync(join(work, 'temporary')).toSorted()).toEqual(['.git', 'fine']);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('makes the person no roles where their home lies in what it may write to', async () => {
    const home = join(work, 'home');
    mkdirSync(home);
    vi.stubEnv('HOME', home);
    try {
      await run('mkdir -p home/.claude/agents && echo x > home/.claude/agents/x.md');
      expect(existsSync(join(home, '.claude'))).toBe(false);
      expect(await run('echo fine > home/notes && cat home/notes')).toContain('fine');
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

describe.skipIf(!works)('what the worker says is its own, and', () => {
  test('is reached by links, is reached by them still after a command has put something else there', async () => {
    mkdirSync(join(outside, 'real', 'cache'), { recursive: true });
    writeFileSync(join(outside, 'real', 'config.toml'), 'as it was');
    rmSync(join(work, 'config.toml'));
    rmSync(join(work, 'cache'), { recursive: true });
    mkdirSync(join(work, 'dotfiles'));
    symlinkSync(join(outside, 'real', 'config.toml'), join(work, 'dotfiles', 'config.toml'));
    symlinkSync('dotfiles/config.toml', join(work, 'config.toml'));
    symlinkSync(join(outside, 'real', 'cache'), join(work, 'cache'));
    await run('rm config.toml; echo x > config.toml; rm cache; mkdir cache; echo x > cache/program');
    await run(
      'rm dotfiles/config.toml; echo x > dotfiles/config.toml; mv dotfiles d; mkdir dotfiles; echo x > dotfiles/config.toml; true',
    );
    expect(readFileSync(join(work, 'config.toml'), 'utf8')).toBe('as it was');
    expect(readdirSync(join(work, 'cache'))).toEqual([]);
    expect(await run('echo fine > beside && cat beside')).toContain('fine');
  });

  test('is missing, is not made', async () => {
    rmSync(join(work, 'cache'), { recursive: true });
    await run('mkdir -p cache && echo x > cache/new');
    expect(existsSync(join(work, 'cache'))).toBe(false);
  });

  test('lies in a folder that is missing, is not made', async () => {
    const deep = { stateDir: join(outside, 'state'), readOnly: [join(work, 'a', 'b', 'c')] };
    await run('mkdir -p a/b && echo x > a/b/c', work, deep);
    expect(readdirSync(work).toSorted()).toEqual(['cache', 'config.toml']);
  });

  test('lies in a folder that is missing, is kept from commands that begin while others end', async () => {
    const deep = { stateDir: join(outside, 'state'), readOnly: [join(work, 'a', 'b'), join(work, 'c')] };
    const lane = async (lane: number): Promise<string[]> => {
      const outputs: string[] = [];
      for (let round = 0; round < 8; round++) {
        await sleep(Math.random() * 30);
        outputs.push(
          await run(`mkdir -p a/b c; echo x > a/b/${lane}; echo x > c/${lane}; echo fine`, work, deep),
        );
      }
      return outputs;
    };
    const outputs = (await Promise.all(Array.from({ length: 5 }, (_, index) => lane(index)))).flat();
    expect(outputs.filter((output) => !/^fine$/m.test(output))).toEqual([]);
    expect(readdirSync(work).toSorted()).toEqual(['cache', 'config.toml']);
  });

  test('leaves nothing behind where the last command in that folder is of a worker with other places', async () => {
    const until = (name: string) => `touch ${name}-begun; until [ -e ${name} ]; do sleep 0.1; done`;
    const begun = (name: string) =>
      vi.waitFor(() => expect(existsSync(join(work, `${name}-begun`))).toBe(true), { timeout: 60_000 });
    const first = run(until('one'), work, { ...own(), readOnly: [join(work, 'notes')] });
    await begun('one');
    expect(existsSync(join(work, 'notes'))).toBe(true);
    const second = run(`${until('two')}; rm one one-begun two two-begun`);
    await begun('two');
    writeFileSync(join(work, 'one'), '');
    await first;
    writeFileSync(join(work, 'two'), '');
    await second;
    expect(readdirSync(work).toSorted()).toEqual(['cache', 'config.toml']);
  });

  test('stands as long as anybody needs it, also one that knows its folder by a link', async () => {
    mkdirSync(join(work, 'sub'));
    symlinkSync('sub/.claude', join(work, '.claude'));
    const begun = () => existsSync(join(work, 'sub', 'begun'));
    const inner = run(
      'touch begun; until [ -e end ]; do sleep 0.1; done; mkdir -p .claude/agents && echo made',
      join(work, 'sub'),
    );
    await vi.waitFor(() => expect(begun()).toBe(true), { timeout: 60_000 });
    await run('true');
    writeFileSync(join(work, 'sub', 'end'), '');
    expect(await inner).not.toMatch(/^made$/m);
    expect(readdirSync(join(work, 'sub')).toSorted()).toEqual(['begun', 'end']);
  });
});

test('a patch of what the worker says is its own asks, of a file and of a folder', async () => {
  const patch = (path: string) => `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch`;
  const apply = (path: string) =>
    Promise.resolve(
      applyPatch.run(applyPatch.parameters.parse({ input: patch(path) }), { ...contextIn(work), ...own() }),
    );
  await expect(apply('cache/new')).rejects.toThrow(ApprovalNeeded);
  rmSync(join(work, 'config.toml'));
  writeFileSync(join(work, 'config.toml'), 'as it was');
  const change = '*** Begin Patch\n*** Update File: config.toml\n@@\n-as it was\n+x\n*** End Patch';
  await expect(
    Promise.resolve(applyPatch.run({ input: change }, { ...contextIn(work), ...own() })),
  ).rejects.toThrow(ApprovalNeeded);
  expect(readFileSync(join(work, 'config.toml'), 'utf8')).toBe('as it was');
  await apply('beside/new');
  expect(readFileSync(join(work, 'beside', 'new'), 'utf8')).toBe('x\n');
});

test('a home that lies in a writable root is one of its own, and what lies beside none', () => {
  vi.stubEnv('HOME', join(work, 'cache'));
  try {
    expect(writableRoots(work)).toContain(join(work, 'cache'));
    expect(writableRoots(join(work, 'cache'))).not.toContain(work);
  } finally {
    vi.unstubAllEnvs();
  }
});
