import { chmodSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { commandLine } from '../run-cadre.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

const json = ({ stdout }: { stdout: string }) => JSON.parse(stdout);

function cloned(
  config = 'sandbox_mode = "danger-full-access"\n[mcp_servers.m]\ncommand = "m"\nenv = { K = "v" }\n',
) {
  const line = commandLine({ 'repo/.git/HEAD': '', 'repo/.cadre/config.toml': config, 'repo/in/keep': '' });
  return {
    ...line,
    root: realpathSync(join(line.folder, 'repo')),
    file: join(line.folder, 'state/trusted.json'),
  };
}

test('trust shows what counts from then on, and can be listed and taken back', async () => {
  const { cadre, root, file } = cloned();
  const told = await cadre(['trust', 'repo/in']);
  expect(told, told.stderr).toMatchObject({ code: 0 });
  expect(told.stdout).toContain(`trusted: ${root}`);
  expect(told.stdout).toMatch(/sandbox_mode +"danger-full-access"/);
  expect(told.stdout).toMatch(/mcp_servers\.m\.env\.K +"\(hidden\)"/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(json(await cadre(['trust', '--list', '--json']))).toMatchObject({
    trusted: [{ path: root, state: 'trusted' }],
  });
  // Again is no second entry.
  await cadre(['trust', 'repo']);
  expect(JSON.parse(readFileSync(file, 'utf8')).folders).toHaveLength(1);

  writeFileSync(join(root, '.cadre/config.toml'), 'model = "m"\n');
  expect((await cadre(['trust', '--list'])).stdout).toMatch(/repo +changed/);
  expect(json(await cadre(['trust', '--revoke', 'repo', '--json']))).toMatchObject({ revoked: true });
  expect((await cadre(['trust', '--list'])).stdout).toBe('no folder is trusted\n');
  expect(json(await cadre(['trust', '--revoke', 'repo', '--json']))).toMatchObject({ revoked: false });
});

test('a folder that is gone can be taken from the list', async () => {
  const { cadre, root } = cloned();
  await cadre(['trust', 'repo']);
  rmSync(root, { recursive: true });
  expect((await cadre(['trust', '--list'])).stdout).toMatch(/repo +gone/);
  expect(json(await cadre(['trust', '--revoke', root, '--json']))).toMatchObject({ revoked: true });
});

test('many at once lose nothing', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const { cadre } = commandLine(Object.fromEntries(names.map((name) => [`${name}/.git/HEAD`, ''])));
  const ended = await Promise.all(names.map((name) => cadre(['trust', name])));
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(json(await cadre(['trust', '--list', '--json'])).trusted).toHaveLength(4);
});

test('what cannot be trusted, or written down, is refused with the reason, and nothing is trusted', async () => {
  const { cadre, folder, file } = cloned('sandbox_mode = "open"\n');
  const refused = async (args: string[], code: string, message: RegExp, environment = {}) => {
    const ended = await cadre(['trust', ...args, '--json'], environment);
    expect(ended.code, ended.stdout).toBe(2);
    expect(json(ended).error).toMatchObject({
      code,
      message: expect.stringMatching(message),
      hint: expect.any(String),
    });
  };
  await refused(['nowhere'], 'usage', /no folder .*nowhere/);
  await refused(['repo/.cadre/config.toml'], 'usage', /no folder .*config\.toml/);
  await refused(['repo'], 'config_invalid', /config\.toml:1: sandbox_mode/);
  await refused(['--list', 'repo'], 'usage', /--list takes no folder/);
  await refused(['--list', '--revoke'], 'usage', /cannot be used with/);
  writeFileSync(join(folder, 'taken'), '');
  await refused(['.'], 'home_unwritable', /it is not a folder/, { CADRE_HOME: join(folder, 'taken') });
  mkdirSync(join(folder, 'state'), { recursive: true });
  writeFileSync(file, 'not JSON');
  for (const args of [['.'], ['--list'], ['--revoke']])
    await refused(args, 'config_invalid', /trusted\.json is broken/);
  expect(readFileSync(file, 'utf8')).toBe('not JSON');
  rmSync(file);
  if (process.getuid?.() !== 0) {
    chmodSync(join(folder, 'state'), 0o500);
    await refused(['.'], 'home_unwritable', /permission denied/);
  }
});

test('with settings that nobody can use every command goes on and says so; they cannot be trusted', async () => {
  const { cadre, root } = cloned('model = \n');
  const told = `${join(root, '.cadre/config.toml')}:1: not valid TOML`;
  const inside = (args: string[]) => cadre(args, {}, 'repo/in');
  const shown = await inside(['config']);
  expect(shown, shown.stderr).toMatchObject({ code: 0 });
  expect(shown.stderr).toContain(told);
  const found = json(await inside(['doctor', '--json']));
  expect(found.findings).toContainEqual({
    what: 'configuration',
    state: 'warn',
    detail: expect.stringMatching(/config\.toml:1: not valid TOML.*; its settings do not count/),
  });
  const refused = await cadre(['trust', 'repo']);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(told);
  expect(json(await cadre(['trust', '--list', '--json'])).trusted).toEqual([]);
});

test('a role that an agent can have planted below a trusted root is shown as bounded, and why', async () => {
  const planted = '---\ndescription: planted\n---\nWrite.\n';
  const { cadre, root } = cloned('model = "m"\n');
  for (const folder of ['.claude/agents', 'in/.claude/agents'])
    mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, '.claude/agents/worker.md'), planted);
  writeFileSync(join(root, 'in/.claude/agents/explorer.md'), planted);
  expect((await cadre(['trust', 'repo'])).code).toBe(0);
  const { stdout } = await cadre(['agents'], {}, 'repo/in');
  expect(stdout).toMatch(/^explorer, search +\.claude\/agents\/explorer\.md +within explorer +planted$/m);
  expect(stdout).toMatch(/^worker +\S+\.claude\/agents\/worker\.md +planted$/m);
  const { findings } = json(await cadre(['agents', 'check', '--json'], {}, 'repo/in'));
  const problems = findings.flatMap((finding: { problems: string[] }) => finding.problems);
  expect(problems).toEqual([
    expect.stringMatching(
      /explorer\.md:1: it takes the place of explorer, and may do no more .* of its root/,
    ),
  ]);
});
