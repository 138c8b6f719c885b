import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { applyPatch } from '../../../activities/tools/apply-patch.ts';
import { ApprovalNeeded } from '../../../activities/tools/approval-needed.ts';
import { execCommand } from '../../../activities/tools/exec-command.ts';
import { shell } from '../../../activities/tools/shell.ts';
import { type AgentSettings, CadreError, type ToolPolicy } from '../../../protocol/index.ts';
import { contextIn } from './tool-context.ts';

const WORKER = fileURLToPath(new URL('./patching-worker.ts', import.meta.url));

let folder: string;
let outside: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-patch-'));
  // Not below /tmp, which commands may write to.
  outside = mkdtempSync('/var/tmp/cadre-outside-');
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(outside, { recursive: true, force: true });
});

const put = (path: string, content: string | Buffer = 'a\nold\nb\n') =>
  writeFileSync(join(folder, path), content);
const got = (path: string) => readFileSync(join(folder, path), 'utf8');
const update = (path: string, from = 'old', to = 'new') => [
  `*** Update File: ${path}`,
  '@@',
  `-${from}`,
  `+${to}`,
];
const run = (
  lines: readonly string[],
  options: { settings?: Partial<AgentSettings>; approved?: boolean; signal?: AbortSignal } = {},
) =>
  applyPatch.run(
    applyPatch.parameters.parse({ input: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') }),
    contextIn(folder, options),
  );
async function refused(...args: Parameters<typeof run>): Promise<CadreError> {
  const error = await run(...args).catch((error: unknown) => error);
  if (!(error instanceof CadreError)) throw new Error(`not refused: ${JSON.stringify(error)}`);
  return error;
}
async function asked(...args: Parameters<typeof run>): Promise<ApprovalNeeded> {
  const error = await refused(...args);
  if (!(error instanceof ApprovalNeeded)) throw error;
  return error;
}
/** Nothing of the way there is left behind. */
/** Without the CADRE_HOME of the context. */
const names = (path = folder) =>
  readdirSync(path)
    .filter((name) => name !== '.state')
    .sort();

test('files are added, changed, moved and deleted in one go', async () => {
  put('a.txt');
  put('move.txt');
  put('gone.txt');
  chmodSync(join(folder, 'a.txt'), 0o750);
  chmodSync(join(folder, 'move.txt'), 0o755);
  const answer = await run([
    '*** Add File: deep/er/new.txt',
    '+one',
    '+two',
    ...update('a.txt'),
    '*** Update File: move.txt',
    '*** Move to: deep/moved.sh',
    '@@',
    '-old',
    '+new',
    '*** Delete File: gone.txt',
  ]);
  expect(answer).toBe(
    'Applied:\nA deep/er/new.txt (+2)\nM a.txt (+1 -1)\nR move.txt -> deep/moved.sh (+1 -1)\nD gone.txt',
  );
  expect([got('deep/er/new.txt'), got('a.txt'), got('deep/moved.sh')]).toEqual([
    'one\ntwo\n',
    'a\nnew\nb\n',
    'a\nnew\nb\n',
  ]);
  const mode = (path: string) => statSync(join(folder, path)).mode & 0o777;
  expect([mode('a.txt'), mode('deep/moved.sh')]).toEqual([0o750, 0o755]);
  expect(names()).toEqual(['a.txt', 'deep']);
  expect(names(join(folder, 'deep'))).toEqual(['er', 'moved.sh']);
});

test('changes of one file build on each other, also a deletion with a new file in its place', async () => {
  put('a.txt');
  put('b.txt');
  await run([
    ...update('a.txt', 'old', 'newer'),
    ...update('a.txt', 'newer', 'newest'),
    '*** Delete File: b.txt',
    '*** Add File: b.txt',
    '+fresh',
    '*** Add File: c.txt',
    '*** Delete File: c.txt',
  ]);
  expect([got('a.txt'), got('b.txt')]).toEqual(['a\nnewest\nb\n', 'fresh\n']);
  expect(names()).toEqual(['a.txt', 'b.txt']);
});

describe('when one change does not fit, nothing is changed in any file', () => {
  test.each<[string, string[], RegExp]>([
    ['a hunk that fits nowhere', update('b.txt', 'nowhere'), /The hunk for b\.txt .* no line "nowhere"/],
    ['a file that is not there', update('none.txt'), /none\.txt does not exist/],
    ['a deletion of what is not there', ['*** Delete File: none.txt'], /none\.txt does not exist/],
    ['a new file where one is', ['*** Add File: b.txt', '+x'], /b\.txt is there already/],
    ['a move to where one is', ['*** Update File: b.txt', '*** Move to: bin'], /bin is there already/],
    ['a folder', update('dir'), /dir is a folder/],
    ['a deletion of a folder', ['*** Delete File: dir'], /dir is a folder/],
    [
      'a path through a file',
      ['*** Add File: b.txt/x', '+x'],
      /leads through something that is not a folder/,
    ],
    ['what is no UTF-8', update('latin'), /latin is no UTF-8 text/],
    ['what has NUL bytes', update('bin'), /bin is no UTF-8 text/],
    ['a pipe', update('pipe'), /no ordinary file/],
    ['a link to nothing', ['*** Add File: lost', '+x'], /lost is a link to what is not there/],
    ['too large a file', update('large'), /large is too large to be patched: 10,?000,?001 bytes/],
  ])('%s', async (_, change, reason) => {
    put('a.txt');
    put('b.txt');
    put('latin', Buffer.from([0x61, 0xe9, 0x0a]));
    put('bin', 'a\0b\n');
    put('large', Buffer.alloc(10_000_001, 'x'));
    mkdirSync(join(folder, 'dir'));
    symlinkSync('nothing', join(folder, 'lost'));
    execFileSync('/bin/sh', ['-c', `mkfifo '${join(folder, 'pipe')}'`]);
    const before = names();
    const error = await refused([...update('a.txt'), '*** Add File: sub/new.txt', '+x', ...change]);
    expect(error.hint).toContain('Nothing was changed');
    expect(error.message).toMatch(reason);
    expect(got('a.txt')).toBe('a\nold\nb\n');
    expect(names()).toEqual(before);
  });
});

test('what goes need not be text', async () => {
  put('image.png', Buffer.from([0x89, 0, 0xff]));
  expect(await run(['*** Delete File: image.png'])).toContain('D image.png');
  expect(names()).toEqual([]);
});

test('a broken patch, and one that is too long, are refused', async () => {
  expect((await refused(['*** What: x'])).code).toBe('invalid_arguments');
  expect((await refused(['*** Add File: a', `+${'x'.repeat(1_000_001)}`])).message).toMatch(
    /longer than 1000000 bytes/,
  );
  expect(names()).toEqual([]);
});

test('CRLF, a byte order mark and a missing last newline stay', async () => {
  put('a.txt', '\ufeffa\r\nold\r\nb');
  await run(update('a.txt'));
  expect(got('a.txt')).toBe('\ufeffa\r\nnew\r\nb');
});

describe('a person is asked before anything is written', () => {
  test.each<[string, () => string]>([
    ['outside', () => `${outside}/x.txt`],
    ['by ..', () => relative(folder, join(outside, 'x.txt'))],
    ['through a link to a folder', () => 'out/x.txt'],
    ['through a link to a file', () => 'link.txt'],
    ['a hook of git', () => '.git/hooks/pre-commit'],
    ['a role that is not there yet', () => '.claude/agents/x.md'],
    ['the configuration of a folder within', () => 'sub/.cadre/config.toml'],
  ])('%s', async (_, path) => {
    mkdirSync(join(folder, '.git/hooks'), { recursive: true });
    symlinkSync(outside, join(folder, 'out'));
    writeFileSync(join(outside, 'file.txt'), 'mine\n');
    symlinkSync(join(outside, 'file.txt'), join(folder, 'link.txt'));
    put('a.txt');
    const change =
      path() === 'link.txt' ? update('link.txt', 'mine', 'theirs') : [`*** Add File: ${path()}`, '+theirs'];
    const error = await asked([...update('a.txt'), ...change]);
    expect(error.need).toMatchObject({ kind: 'patch', reason: expect.stringContaining('outside') });
    expect(error.need.summary).not.toContain('a.txt');
    expect(got('a.txt')).toBe('a\nold\nb\n');
    expect(names(outside)).toEqual(['file.txt']);
    expect(readFileSync(join(outside, 'file.txt'), 'utf8')).toBe('mine\n');
    // Allowed, it is done whole.
    await run([...update('a.txt'), ...change], { approved: true });
    expect(got('a.txt')).toBe('a\nnew\nb\n');
    expect(readFileSync(join(folder, path().startsWith('/') ? 'link.txt' : path()), 'utf8')).toMatch(
      /mine|theirs/,
    );
  });

  test('for anything where the sandbox is read-only or the policy untrusted, for nothing where it is off', async () => {
    put('a.txt');
    const change = update('a.txt');
    expect((await asked(change, { settings: { sandbox_mode: 'read-only' } })).message).toContain('read-only');
    expect((await asked(change, { settings: { approval_policy: 'untrusted' } })).message).toContain(
      'untrusted',
    );
    expect(got('a.txt')).toBe('a\nold\nb\n');
    const free = { settings: { sandbox_mode: 'danger-full-access' } as const };
    await run([`*** Add File: ${outside}/x.txt`, '+x'], free);
    expect(names(outside)).toEqual(['x.txt']);
  });

  test('files of another sandbox mode, or others, are another question; the same ones the same', async () => {
    put('a.txt');
    const key = async (lines: string[], settings: Partial<AgentSettings> = {}) =>
      (await asked(lines, { settings })).need.key;
    const x = [`*** Add File: ${outside}/x`, '+1'];
    const y = [`*** Add File: ${outside}/y`, '+1'];
    expect(await key([...x, ...y])).toBe(await key([...y, ...x, ...update('a.txt')]));
    expect(await key(x)).not.toBe(await key(y));
    expect(await key(x)).not.toBe(await key(x, { sandbox_mode: 'read-only' }));
  });
});

test('CADRE_HOME is never written to without a person, wherever it lies', async () => {
  mkdirSync(join(folder, '.state'));
  expect((await asked(['*** Add File: .state/x', '+x'])).need.summary).toContain('.state/x');
});

test('a second name of a file, outside, keeps the old content', async () => {
  writeFileSync(join(outside, 'mine.txt'), 'a\nold\nb\n');
  try {
    linkSync(join(outside, 'mine.txt'), join(folder, 'a.txt'));
  } catch {
    // The two lie on different disks here.
    return;
  }
  await run(update('a.txt'));
  expect(got('a.txt')).toBe('a\nnew\nb\n');
  expect(readFileSync(join(outside, 'mine.txt'), 'utf8')).toBe('a\nold\nb\n');
});

test('a command that only calls apply_patch is the tool, within the same bounds', async () => {
  put('a.txt');
  const input = ['*** Begin Patch', ...update('a.txt'), '*** End Patch'].join('\n');
  const call = (settings: Partial<AgentSettings> = {}, command = `apply_patch <<'EOF'\n${input}\nEOF`) =>
    shell.run(shell.parameters.parse({ command }), contextIn(folder, { settings }));
  const policy = (tool_policy: Partial<ToolPolicy>) => ({
    tool_policy: { allow: [], deny: [], ...tool_policy },
  });
  await expect(call(policy({ deny: ['apply_patch'] }))).rejects.toMatchObject({ code: 'tool_not_allowed' });
  await expect(call(policy({ read_only: true }))).rejects.toMatchObject({ code: 'tool_not_allowed' });
  await expect(call({ sandbox_mode: 'read-only' })).rejects.toBeInstanceOf(ApprovalNeeded);
  expect(got('a.txt')).toBe('a\nold\nb\n');
  expect(await call()).toBe('Applied:\nM a.txt (+1 -1)');
  expect(got('a.txt')).toBe('a\nnew\nb\n');
});

describe('a command that applies a patch', () => {
  const add = (path: string) => `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch`;
  const heredoc = (path = 'new.txt') => `apply_patch <<'EOF'\n${add(path)}\nEOF\n`;
  const inShell = (args: object, settings: Partial<AgentSettings> = {}) =>
    shell.run(shell.parameters.parse(args), contextIn(folder, { settings }));
  const inSession = (args: object, settings: Partial<AgentSettings> = {}) =>
    execCommand.run(execCommand.parameters.parse(args), contextIn(folder, { settings }));
  const FREE = { sandbox_mode: 'danger-full-access', approval_policy: 'never' } as const;

  test.each<[string, () => Promise<unknown>]>([
    ['in its folder', () => inShell({ command: heredoc(), workdir: 'sub' })],
    ['behind cd', () => inShell({ command: `cd sub && ${heredoc()}` })],
    [
      'behind cd in its folder',
      () => inShell({ command: `cd er && ${heredoc('../new.txt')}`, workdir: 'sub' }),
    ],
    ['through a shell', () => inShell({ command: ['bash', '-lc', `cd sub; ${heredoc()}`] })],
    ['of exec_command', () => inSession({ cmd: `cd sub && ${heredoc()}`, tty: true })],
    ['of exec_command in its folder', () => inSession({ cmd: heredoc(), workdir: 'sub' })],
  ])('%s is the tool', async (_, call) => {
    mkdirSync(join(folder, 'sub/er'), { recursive: true });
    expect(await call()).toMatch(/^Applied:\nA (\.\.\/)?new.txt \(\+1\)$/);
    expect([names(), names(join(folder, 'sub'))]).toEqual([['sub'], ['er', 'new.txt']]);
  });

  test('leads no further than the tool', async () => {
    await expect(inShell({ command: `cd ${outside} && ${heredoc()}` })).rejects.toBeInstanceOf(
      ApprovalNeeded,
    );
    await expect(inSession({ cmd: heredoc(), workdir: outside })).rejects.toBeInstanceOf(ApprovalNeeded);
    await expect(inSession({ cmd: `cd nowhere; ${heredoc()}` })).rejects.toThrow(/does not exist: .*nowhere/);
    const denied = { tool_policy: { allow: [], deny: ['apply_patch'] } };
    await expect(inSession({ cmd: heredoc() }, denied)).rejects.toMatchObject({ code: 'tool_not_allowed' });
    expect([names(), readdirSync(outside)]).toEqual([[], []]);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['shell', () => inShell({ command: `true; ${heredoc()}` }, FREE)],
    ['a shell that goes on', () => inShell({ command: `${heredoc()}true` }, FREE)],
    [
      'shell without its words',
      () => inShell({ command: `true; ${heredoc()}`.replace('<<', '2>/dev/null <<') }, FREE),
    ],
    ['exec_command', () => inSession({ cmd: `${heredoc()}exit 3` }, FREE)],
  ])('beside others, in %s, is told of the tool', async (_, call) => {
    expect(await call()).toMatchObject({
      output: expect.stringContaining(
        '[apply_patch is no program here: call the tool apply_patch with the patch',
      ),
    });
  });

  test('no other command that fails is told of it', async () => {
    expect(await inShell({ command: 'grep apply_patch nowhere; not-there' }, FREE)).toMatchObject({
      output: expect.not.stringContaining('no program here'),
    });
  });
});

test('its summary names the files', () => {
  expect(applyPatch.summary({ input: update('a b.txt').concat('*** Delete File: c').join('\n') })).toBe(
    'a b.txt, c',
  );
  const begun = performance.now();
  expect(applyPatch.summary({ input: `*** Add File: a${' '.repeat(300_000)}b` })).toMatch(/^a +b$/);
  // Minutes, where the time grows with the square.
  expect(performance.now() - begun).toBeLessThan(8_000);
  expect(existsSync(join(folder, 'c'))).toBe(false);
});

test('to delete a link takes the link away, not what it leads to', async () => {
  writeFileSync(join(outside, 'kept'), 'kept');
  symlinkSync(join(outside, 'kept'), join(folder, 'link'));
  expect((await refused(['*** Delete File: link', '*** Delete File: link'])).message).toMatch(
    /does not exist/,
  );
  expect(await run(['*** Delete File: link'])).toBe('Applied:\nD link');
  expect(names()).toEqual([]);
  expect(readFileSync(join(outside, 'kept'), 'utf8')).toBe('kept');
});

describe('a link that is taken away', () => {
  const DELETED = '*** Delete File: link';
  beforeEach(() => {
    writeFileSync(join(outside, 'kept'), 'old\n');
    symlinkSync(join(outside, 'kept'), join(folder, 'link'));
  });
  const isFile = (path: string) => lstatSync(join(folder, path)).isFile();

  test.each<[string, string[]]>([
    ['a new file', ['*** Add File: link', '+new']],
    ['a new file that is changed again', ['*** Add File: link', '+old', ...update('link')]],
    ['a file that is moved', ['*** Update File: a', '*** Move to: link', '@@', '-old', '+new']],
  ])('leaves its name to %s', async (_, change) => {
    put('a', 'old\n');
    chmodSync(join(folder, 'a'), 0o644);
    await run([DELETED, ...change]);
    expect([isFile('link'), got('link')]).toEqual([true, 'new\n']);
    // As of any new file, not of the link.
    expect(statSync(join(folder, 'link')).mode & 0o111).toBe(0);
    expect(readFileSync(join(outside, 'kept'), 'utf8')).toBe('old\n');
  });

  test.each<[string, string[]]>([
    ['added', ['*** Add File: folder/kept', '+new']],
    ['added deep below', ['*** Add File: ./folder/deep/new', '+new']],
    ['changed', update('folder/old')],
    ['deleted', ['*** Delete File: folder/old']],
    ['moved', ['*** Update File: a', '*** Move to: folder/a', '@@', '-old', '+new']],
  ])('leaves alone the folder that it led to: nothing behind it is %s', async (_, change) => {
    put('a', 'old\n');
    mkdirSync(join(outside, 'other'));
    writeFileSync(join(outside, 'other', 'old'), 'old\n');
    symlinkSync(join(outside, 'other'), join(folder, 'folder'));
    const { message, hint } = await refused(['*** Delete File: folder', ...change], { approved: true });
    expect(message).toMatch(/behind the link .*folder, which this patch deletes/);
    expect(hint).toContain('a patch of its own');
    expect(lstatSync(join(folder, 'folder')).isSymbolicLink()).toBe(true);
    expect(names(join(outside, 'other'))).toEqual(['old']);
  });

  test('is gone with what came in its place', async () => {
    await run([DELETED, '*** Add File: link', '+new', DELETED]);
    expect(names()).toEqual([]);
    expect(names(outside)).toEqual(['kept']);
  });

  test('is not moved without a word: neither it nor what it leads to', async () => {
    put('a', 'old\n');
    symlinkSync('a', join(folder, 'inside'));
    const moved = (to: string) => ['*** Update File: inside', `*** Move to: ${to}`, '@@', '-old', '+new'];
    const error = await refused(moved('b'));
    expect(error.message).toBe('inside is a link, and only files can be moved.');
    expect(error.hint).toContain(`Move ${join(folder, 'a')}`);
    expect([names(), got('a')]).toEqual([['a', 'inside', 'link'], 'old\n']);
    // Nothing moves.
    await run(moved('./inside'));
    expect([isFile('inside'), got('a')]).toEqual([false, 'new\n']);
  });
});

test('a protected name is one in any letters: some file systems take them for the same', async () => {
  for (const path of ['.GIT/hooks/pre-commit', '.Claude/settings.json', 'sub/.Agents/x']) {
    expect((await asked([`*** Add File: ${path}`, '+x'])).need.summary).toBe(`add ${join(folder, path)}`);
  }
  expect(names()).toEqual([]);
});

test('the question says what becomes of each file, and another fate is another question', async () => {
  writeFileSync(join(outside, 'f'), 'old\n');
  const file = join(outside, 'f');
  const change = (await asked(update(file))).need;
  const remove = (await asked([`*** Delete File: ${file}`])).need;
  expect([change.summary, remove.summary]).toEqual([`change ${file}`, `delete ${file}`]);
  expect(remove.key).not.toBe(change.key);
});

test('an interrupted patch says what has become of it', async () => {
  const controller = new AbortController();
  const lines = Array.from({ length: 500 }, (_, i) => [`*** Add File: come/${i}`, '+x']).flat();
  const running = run(lines, { signal: controller.signal });
  while (!existsSync(join(folder, 'come'))) await setImmediate();
  controller.abort();
  expect(await running).toEqual({
    output: expect.stringMatching(/interrupted.*\n*.*Nothing was changed, in no file/),
    success: false,
  });
  expect(names()).toEqual([]);
  expect(await run(['*** Add File: a', '+x'], { signal: AbortSignal.abort() })).toMatchObject({
    output: expect.stringContaining('Nothing was changed'),
    success: false,
  });
  expect(names()).toEqual([]);
});

test.skipIf(process.platform !== 'linux')(
  'what agents of several workers patch in the same files at the same time is all there',
  async () => {
    put('one', 'begin\n');
    put('two', 'begin\n');
    await Promise.all(
      ['x', 'y', 'z'].map((name) => promisify(execFile)(process.execPath, [WORKER, folder, name, '15'])),
    );
    const lines = ['x', 'y', 'z'].flatMap((name) =>
      ['a', 'b'].flatMap((agent) => Array.from({ length: 15 }, (_, i) => `${name}${agent}${i}`)),
    );
    for (const file of ['one', 'two'])
      expect(got(file).trim().split('\n').toSorted()).toEqual(['begin', ...lines].toSorted());
  },
  120_000,
);

test('the description says with what a hunk begins', () => {
  for (const word of [
    'begins with @@',
    '*** Begin Patch',
    '*** Add File: ',
    '*** Update File: ',
    '*** Delete File: ',
  ])
    expect(applyPatch.description).toContain(word);
});
