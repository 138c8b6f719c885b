import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readRole, readRoleCatalog } from '../../../activities/roles/role-catalog.ts';
import type { CadreError, Dialect } from '../../../protocol/index.ts';
import { folderWith } from '../../support/folders.ts';

const role = (text: string, more = '') => `---\ndescription: ${text}\n${more}---\n${text}\n`;
const toml = (text: string) => `description = "${text}"\ndeveloper_instructions = "${text}"\n`;

/** The roles of an agent that works in `project/a/b` of a folder with these files. */
async function catalogOf(files: Record<string, string>, at = 'project/a/b', dialect: Dialect = 'collab') {
  const root = folderWith({ 'project/.git/HEAD': '', [`${at}/keep`]: '', 'home/keep': '', ...files });
  const read = () => readRoleCatalog({ folder: join(root, at), home: join(root, 'home'), dialect });
  return { root, read, catalog: await read() };
}
const described = (catalog: Awaited<ReturnType<typeof catalogOf>>['catalog'], name: string) =>
  catalog.named(name).role.description;
function refusalOf(run: () => unknown): CadreError {
  try {
    run();
  } catch (error) {
    return error as CadreError;
  }
  throw new Error('nothing was refused');
}

test('the nearest file of a name counts: by folder up to the root of the repository, then by family, then home', async () => {
  const order = [
    ...['project/a/b/.cadre', 'project/a/b/.codex', 'project/a/b/.claude'],
    ...['project/a/.cadre', 'project/a/.codex', 'project/a/.claude'],
    ...['project/.cadre', 'project/.codex', 'project/.claude'],
    ...['home/.cadre', 'home/.codex', 'home/.claude'],
  ].map((folder) => `${folder}/agents/critic.md`);
  const outside = { '.claude/agents/critic.md': role('above the repository') };
  for (let first = 0; first < order.length; first++) {
    const files = Object.fromEntries(order.slice(first).map((path) => [path, role(path)]));
    const { catalog, root } = await catalogOf({ ...files, ...outside });
    expect(described(catalog, 'critic')).toBe(order[first]);
    expect(catalog.named('critic')).toMatchObject({
      path: join(root, order[first] as string),
      origin: first < 9 ? 'project' : 'home',
    });
  }
  const { catalog } = await catalogOf(outside);
  expect(() => catalog.named('critic')).toThrow('There is no role "critic"');
});

test('outside of a repository only the folder itself counts', async () => {
  const files = {
    'loose/.cadre/agents/above.md': role('above'),
    'loose/in/.cadre/agents/here.md': role('here'),
  };
  const { catalog } = await catalogOf(files, 'loose/in');
  expect(catalog.names()).toEqual(['default', 'explorer', 'here', 'orchestrator', 'search', 'worker']);
});

test('an agent that works at home has the roles of its home, once', async () => {
  const { catalog } = await catalogOf({ 'home/.claude/agents/mine.md': role('mine') }, 'home');
  expect(catalog.files.map(({ origin }) => origin)).toEqual(['home']);
});

test('Markdown and TOML load from every folder, and from folders within', async () => {
  const { catalog } = await catalogOf({
    'project/.codex/agents/one.toml': toml('one'),
    'project/.claude/agents/team/two.md': role('two'),
    'project/.cadre/agents/three.MD': role('three'),
    'project/.cadre/agents/.hidden.md': role('hidden'),
    'project/.cadre/agents/notes.txt': 'no role',
    'project/.cadre/agents/both.md': role('Markdown'),
    'project/.cadre/agents/both.toml': toml('TOML'),
  });
  for (const name of ['one', 'two', 'three']) expect(described(catalog, name)).toBe(name);
  expect(described(catalog, 'both')).toBe('Markdown');
  expect(catalog.files).toHaveLength(5);
});

test('a broken file disables itself and no other, and its name is not given to another role', async () => {
  const { catalog, root } = await catalogOf({
    'project/.cadre/agents/critic.md': '---\ndescription: d\nread_only: maybe\n---\nbody',
    'project/.claude/agents/critic.md': role('further away'),
    'project/.cadre/agents/explorer.md': 'no frontmatter',
    'project/.cadre/agents/fine.md': role('fine'),
    'home/.cadre/agents/mine.md': role('mine'),
  });
  const path = (name: string) => join(root, 'project/.cadre/agents', name);
  expect(refusalOf(() => catalog.named('critic'))).toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining(`${path('critic.md')}:3: read_only`),
  });
  expect(refusalOf(() => catalog.named('explorer')).message).toBe(
    `${path('explorer.md')}:1: missing YAML frontmatter`,
  );
  expect(catalog.names()).toEqual(['default', 'fine', 'mine', 'orchestrator', 'worker'].sort());
});

test('whatever lies there is told with path and line, and all else loads', async () => {
  const agents = 'project/.claude/agents';
  const { read, root } = await catalogOf({
    [`${agents}/fine.md`]: role('fine'),
    [`${agents}/large.md`]: `${role('large')}${'x'.repeat(10_000_000)}`,
    [`${agents}/nul.md`]: role('a\0b'),
    [`${agents}/bomb.md`]: `---\ndescription: d\na0: &a0 [x,x,x,x]\n${Array.from(
      { length: 12 },
      (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]\n`,
    ).join('')}---\nbody`,
    [`${agents}/two words.md`]: role('two words'),
    [`${agents}/..up.md`]: role('up'),
    [`${agents}/a..b.md`]: role('dots'),
    [`${agents}/🦊.md`]: role('fox'),
    [`${agents}/${'n'.repeat(100)}.md`]: role('long'),
    [`${agents}/folder.md/inner.md`]: role('inner'),
  });
  const folder = join(root, agents);
  writeFileSync(join(folder, 'binary.md'), Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe, 0xc3]));
  writeFileSync(join(folder, 'binary.toml'), Buffer.from([0xc3, 0x28]));
  symlinkSync('loop-b.md', join(folder, 'loop-a.md'));
  symlinkSync('loop-a.md', join(folder, 'loop-b.md'));
  symlinkSync('gone.md', join(folder, 'dangling.md'));
  symlinkSync('/dev/zero', join(folder, 'device.md'));
  symlinkSync(folder, join(folder, 'self'));
  symlinkSync('/', join(folder, 'machine'));
  execFileSync('/bin/sh', ['-c', 'mkfifo pipe.md'], { cwd: folder });

  const catalog = await read();
  const problems = catalog.files.flatMap((file) =>
    file.ok ? [] : [file.error.message.slice(folder.length + 1)],
  );
  const named = /:1: the file name is no name for a role: letters, digits/;
  const expected: [string, RegExp][] = [
    ['..up.md', named],
    ['a..b.md', named],
    ['two words.md', named],
    ['🦊.md', named],
    [`${'n'.repeat(100)}.md`, named],
    ['large.md', /:1: is larger than 64 KiB$/],
    ['nul.md', /:2: is no text: it has a NUL byte$/],
    ['binary.md', /:1: is no text: it is not UTF-8$/],
    ['binary.toml', /:1: is no text: it is not UTF-8$/],
    ['bomb.md', /:2: invalid YAML: /],
    ['folder.md', /:1: is a folder, not a file$/],
    ['loop-a.md', /:1: leads through too many links$/],
    ['loop-b.md', /:1: leads through too many links$/],
    ['dangling.md', /:1: does not exist$/],
    ['device.md', /:1: is no ordinary file/],
    ['pipe.md', /:1: is no ordinary file/],
  ];
  for (const [file, reason] of expected) {
    const problem = problems.find((text) => text.startsWith(`${file}:`));
    expect(problem, file).toMatch(reason);
  }
  expect(problems).toHaveLength(expected.length);
  expect(catalog.files.filter((file) => file.ok).map(({ name }) => name)).toEqual(['fine']);
  expect(described(catalog, 'fine')).toBe('fine');
});

test('case does not matter, unless two names differ by it alone', async () => {
  const { catalog } = await catalogOf({
    'project/.cadre/agents/Critic.md': role('Critic'),
    'project/.cadre/agents/Twin.md': role('Twin'),
    'project/.cadre/agents/twin.md': role('twin'),
  });
  expect(described(catalog, 'CRITIC')).toBe('Critic');
  expect(described(catalog, 'twin')).toBe('twin');
  expect(described(catalog, 'Twin')).toBe('Twin');
  expect(() => catalog.named('TWIN')).toThrow('There is no role "TWIN"');
  expect(catalog.named('WORKER').origin).toBe('built-in');
});

test('a file takes the place of an alias; other roles keep theirs', async () => {
  const files = { 'home/.claude/agents/reviewer.md': role('mine') };
  const { catalog } = await catalogOf(files, 'project/a/b', 'sessions');
  expect(described(catalog, 'reviewer')).toBe('mine');
  expect(catalog.named('code-review').role.name).toBe('review');
  expect(catalog.named('review').aliases).toEqual(['code-review']);
});

test('an alias means what bears the name that it stands for', async () => {
  const { catalog } = await catalogOf({ 'home/.claude/agents/explorer.md': role('mine') });
  expect(described(catalog, 'SEARCH')).toBe('mine');
  expect(catalog.names()).toEqual(['default', 'explorer', 'orchestrator', 'search', 'worker']);
});

test('one role alone is the same as among all', async () => {
  const { catalog, root } = await catalogOf({
    'home/.claude/agents/explorer.md': role('mine'),
    'project/.claude/agents/explorer.md': role('theirs'),
    'project/.claude/agents/Critic.md': role('critic'),
    'project/.claude/agents/bad.md': 'no role',
  });
  const places = { folder: join(root, 'project/a/b'), home: join(root, 'home'), dialect: 'collab' } as const;
  for (const name of ['explorer', 'search', 'critic', 'Critic', 'worker', 'verifier']) {
    expect(await readRole(places, name), name).toEqual(catalog.named(name));
  }
  for (const name of ['bad', 'BAD', 'nobody', '../Critic']) {
    const { message, hint } = refusalOf(() => catalog.named(name));
    await expect(readRole(places, name), name).rejects.toMatchObject({ message, hint });
  }
});

test('what a project says loosens nothing of what the person has under that name; a home may', async () => {
  const wide = role('wide');
  const project = await catalogOf({
    'project/.claude/agents/explorer.md': wide,
    'project/.claude/agents/search.md': wide,
    'project/.claude/agents/deployer.md': wide,
    'project/.claude/agents/review.md': wide,
    'home/.claude/agents/deployer.md': role('narrow', 'tools: Read\n'),
  });
  const within = (name: string) => project.catalog.named(name).within?.description;
  expect(project.catalog.named('explorer').within).toMatchObject({ name: 'explorer', read_only: true });
  expect(project.catalog.named('search').within).toMatchObject({ name: 'explorer' });
  expect(within('deployer')).toBe('narrow');
  // Agents of this dialect are not told of it, and have it all the same when they ask for it.
  expect(project.catalog.named('review').within).toMatchObject({ name: 'review', read_only: true });

  // Whatever case they are written in; and nobody knows what a broken one of the person's would take away.
  const alike = await catalogOf({
    'project/.claude/agents/auditor.md': wide,
    'project/.claude/agents/guard.md': wide,
    'home/.claude/agents/Auditor.md': role('narrow', 'tools: Read\n'),
    'home/.claude/agents/guard.md': 'no frontmatter',
  });
  expect(alike.catalog.named('auditor').within?.description).toBe('narrow');
  expect(refusalOf(() => alike.catalog.named('guard')).message).toMatch(/home.*guard.md:1: missing YAML/);
  expect(alike.catalog.all().map(({ role }) => role.name)).not.toContain('guard');

  const home = await catalogOf({ 'home/.claude/agents/explorer.md': wide });
  expect(home.catalog.named('explorer')).toMatchObject({ origin: 'home', role: { description: 'wide' } });
  expect(home.catalog.named('explorer').within).toBeUndefined();
});

test('a project that the person trusts puts its roles in the place of others whole', async () => {
  const { root } = await catalogOf({
    'project/.claude/agents/explorer.md': role('wide'),
    'project/.claude/agents/guard.md': role('wide'),
    'home/.claude/agents/guard.md': 'no frontmatter',
  });
  const places = { folder: join(root, 'project'), home: join(root, 'home'), dialect: 'collab' as const };
  for (const name of ['explorer', 'guard']) {
    const known = await readRole({ ...places, trusted: true }, name);
    expect(known).toMatchObject({ origin: 'project', role: { description: 'wide' } });
    expect(known.within).toBeUndefined();
  }
  expect((await readRole(places, 'explorer')).within).toMatchObject({ name: 'explorer' });
});

describe('of a project that the person trusts', () => {
  const wide = role('wide');
  const guard = role('narrow', 'read_only: true\n');

  async function trusted(files: Record<string, string>, more: (root: string) => void = () => {}) {
    const { root } = await catalogOf(files);
    more(root);
    const places = {
      folder: join(root, 'project/a/b'),
      home: join(root, 'home'),
      dialect: 'collab' as const,
    };
    return (name: string) => readRole({ ...places, trusted: true }, name);
  }

  test('a role that does not lie in its root, where a command can have made it, is bounded as a stranger’s', async () => {
    for (const folder of ['project/a/b/.cadre', 'project/a/.codex', 'project/a/.claude']) {
      const named = await trusted({ [`${folder}/agents/explorer.md`]: wide });
      expect(await named('explorer'), folder).toMatchObject({
        role: { description: 'wide' },
        within: { name: 'explorer', read_only: true },
      });
    }
    for (const folder of ['project/.cadre', 'project/.codex', 'project/.claude']) {
      const named = await trusted({ [`${folder}/agents/explorer.md`]: wide });
      expect((await named('explorer')).within, folder).toBeUndefined();
    }
  });

  test('nor does it replace one of the root, whatever case or alias it has, or where that is broken', async () => {
    const named = await trusted({
      'project/.claude/agents/guard.md': guard,
      'project/.claude/agents/explorer.md': role('of the root', 'tools: []\n'),
      'project/.claude/agents/broken.md': 'no frontmatter',
      'project/a/.claude/agents/guard.md': wide,
      'project/a/.claude/agents/GUARD.md': wide,
      'project/a/.claude/agents/search.md': wide,
      'project/a/.claude/agents/broken.md': wide,
    });
    for (const name of ['guard', 'GUARD'])
      expect((await named(name)).within, name).toMatchObject({ description: 'narrow' });
    expect((await named('search')).within).toMatchObject({ description: 'of the root' });
    await expect(named('broken')).rejects.toThrow(/project\/\.claude\/agents\/broken\.md:1/);
  });

  test('a link in its root to what commands can write is no more than what it leads to', async () => {
    const file = await trusted(
      { 'project/prompts/explorer.md': wide, 'project/.claude/agents/keep': '' },
      (root) => symlinkSync('../../prompts/explorer.md', join(root, 'project/.claude/agents/explorer.md')),
    );
    expect((await file('explorer')).within).toMatchObject({ name: 'explorer' });
    for (const place of ['project/.claude/agents', 'project/.claude']) {
      const folder = await trusted({ 'project/shared/agents/explorer.md': wide }, (root) => {
        mkdirSync(join(root, place, '..'), { recursive: true });
        symlinkSync(
          join(root, place.endsWith('agents') ? 'project/shared/agents' : 'project/shared'),
          join(root, place),
        );
      });
      expect((await folder('explorer')).within, place).toMatchObject({ name: 'explorer' });
    }
    const among = await trusted({ 'project/.cadre/agents/explorer.md': wide }, (root) =>
      symlinkSync('.cadre', join(root, 'project/.claude')),
    );
    expect((await among('explorer')).within).toBeUndefined();
  });
});

test('an alias that a project takes for itself still means what the person has under the name', async () => {
  const { catalog } = await catalogOf({
    'project/.claude/agents/search.md': role('wide'),
    'home/.claude/agents/explorer.md': role('narrow', 'tools: []\n'),
  });
  expect(catalog.named('search').within).toMatchObject({ description: 'narrow' });
});

test('a folder that is a file, or may not be read, holds no roles', async () => {
  const { read, root } = await catalogOf({ 'project/.claude/agents': 'a file' });
  mkdirSync(join(root, 'project/.codex'), { recursive: true });
  symlinkSync(join(root, 'project/.codex/agents'), join(root, 'project/.codex/agents'));
  expect((await read()).files).toEqual([]);
});
