import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../cli/config/load.ts';
import { rootToTrust, trustFolder } from '../../../cli/trust/trust-folder.ts';
import { isTrusted } from '../../../worker/trust.ts';
import { folderWith } from '../../support/folders.ts';

const OPEN = `
sandbox_mode = "danger-full-access"
model_provider = "theirs"
profile = "p"
[model_providers.theirs]
base_url = "http://127.0.0.1:9/v1"
[mcp_servers.theirs]
command = "theirs"
[profiles.p]
model = "of-the-profile"
`;

/** A machine with a repository that is not the person's. */
function machine(config = OPEN) {
  const root = realpathSync(
    folderWith({
      'repo/.git/HEAD': '',
      'repo/.cadre/config.toml': config,
      'repo/deep/down/keep': '',
      'repo/inner/.git/HEAD': '',
      'repo/inner/.cadre/config.toml': config,
      'home/keep': '',
      'state/keep': '',
    }),
  );
  const at = (...parts: string[]) => join(root, ...parts);
  const load = (cwd = at('repo')) =>
    loadConfig({ cwd, environment: { HOME: at('home'), CADRE_HOME: at('state') } });
  /** As `cadre trust` does in that folder. */
  const trust = async (folder = at('repo')) => {
    const { trust: found } = await load(folder);
    expect(found?.folder).toBe(rootToTrust(folder));
    const { createHash } = await import('node:crypto');
    const { readFileSync } = await import('node:fs');
    const bytes = readFileSync(join(rootToTrust(folder), '.cadre/config.toml'));
    await trustFolder(at('state'), rootToTrust(folder), createHash('sha256').update(bytes).digest('hex'));
  };
  return { at, load, trust };
}

test('what a repository says counts as the person’s own once its folder is trusted, from every folder in it', async () => {
  const { load, trust, at } = machine();
  const before = await load();
  expect(before).toMatchObject({
    trust: { folder: at('repo'), state: 'untrusted' },
    config: { sandbox_mode: 'workspace-write', mcp_servers: {} },
    withheld: expect.arrayContaining([
      'sandbox_mode',
      'model_provider',
      'profile',
      'mcp_servers.theirs.command',
    ]),
  });
  expect(before.notices[0]).toContain(`cadre trust ${at('repo')}`);
  await trust(at('repo/deep'));
  for (const folder of ['repo', 'repo/deep/down']) {
    expect(await load(at(folder))).toMatchObject({
      trust: { folder: at('repo'), state: 'trusted' },
      withheld: [],
      config: {
        sandbox_mode: 'danger-full-access',
        model_provider: 'theirs',
        model: 'of-the-profile',
        mcp_servers: { theirs: { command: 'theirs' } },
      },
    });
  }
});

test('neither a repository within a trusted one nor one around it is trusted', async () => {
  const { load, trust, at } = machine();
  await trust(at('repo'));
  expect((await load(at('repo/inner'))).trust).toEqual({ folder: at('repo/inner'), state: 'untrusted' });
  const other = machine();
  await other.trust(other.at('repo/inner'));
  expect((await other.load()).config.sandbox_mode).toBe('workspace-write');
});

test('settings that have changed since loosen nothing until the folder is trusted again', async () => {
  const { load, trust, at } = machine('model = "m"\n');
  await trust();
  writeFileSync(at('repo/.cadre/config.toml'), OPEN);
  const { config, trust: state, notices } = await load();
  expect(state?.state).toBe('changed');
  expect(config.sandbox_mode).toBe('workspace-write');
  expect(notices[0]).toMatch(/is not what it was when you trusted its folder.*cadre trust/);
  await trust();
  expect((await load()).config.sandbox_mode).toBe('danger-full-access');
});

test('a folder that was moved is not trusted, nor one that a link leads to', async () => {
  const { load, trust, at } = machine();
  await trust();
  expect(isTrusted(at('state'), at('repo/deep'))).toBe(true);
  renameSync(at('repo'), at('moved'));
  expect((await load(at('moved'))).config.sandbox_mode).toBe('workspace-write');
  expect(isTrusted(at('state'), at('moved'))).toBe(false);

  const { at: here } = machine();
  const linked = machine();
  await linked.trust();
  // By whatever name the trusted one is reached it is the same; what lies elsewhere does not become part of it.
  symlinkSync(linked.at('repo'), linked.at('name'));
  expect((await linked.load(linked.at('name'))).trust?.state).toBe('trusted');
  symlinkSync(here('repo/deep'), linked.at('repo/link'));
  expect(isTrusted(linked.at('state'), linked.at('repo/link'))).toBe(false);
  expect((await linked.load(linked.at('repo/link'))).config.sandbox_mode).toBe('workspace-write');
});

test.each([
  ['no JSON', '{'],
  ['another shape', '{"folders": [{"path": "relative", "config_sha256": null, "trusted_at": "now"}]}'],
  ['a list', '[]'],
])(
  'with a file of trusted folders that is broken (%s) nothing is trusted, and the notice says so',
  async (_, text) => {
    const { load, trust, at } = machine();
    await trust();
    writeFileSync(at('state/trusted.json'), text);
    const { config, notices } = await load();
    expect(config.sandbox_mode).toBe('workspace-write');
    expect(notices[0]).toContain(`${at('state/trusted.json')} is broken, so no folder is trusted`);
    await expect(trust()).rejects.toMatchObject({ code: 'config_invalid' });
  },
);

test('a mistake in trusted settings is an error, as in the person’s own file', async () => {
  const { load, trust } = machine('sandbox_mode = "open"\n');
  expect((await load()).notices[0]).toMatch(/ignored sandbox_mode/);
  await trust();
  await expect(load()).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('.cadre/config.toml:1: sandbox_mode'),
  });
});

test('so is one that makes all of them useless, or a key that nobody knows; in settings that have changed it is a notice', async () => {
  const { load, trust, at } = machine('model = \n');
  await trust();
  await expect(load()).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('config.toml:1: not valid TOML'),
  });
  writeFileSync(at('repo/.cadre/config.toml'), 'modle = "x"\n');
  expect((await load()).notices[0]).toMatch(/ignored unknown key modle/);
  await trust();
  await expect(load()).rejects.toMatchObject({ message: expect.stringContaining('unknown key modle') });
});

test('settings that cannot be read are not those that a folder without any was trusted with', async () => {
  const { load, at } = machine();
  rmSync(at('repo/.cadre/config.toml'));
  await trustFolder(at('state'), at('repo'), undefined);
  expect((await load()).trust?.state).toBe('trusted');
  mkdirSync(at('repo/.cadre/config.toml'));
  const { trust, notices } = await load();
  expect(trust?.state).toBe('changed');
  expect(notices[0]).toMatch(/is a folder, not a file; its settings do not count/);
});

test('outside of a repository the folder alone is trusted, not what lies in it', async () => {
  const { load, trust, at } = machine();
  mkdirSync(at('loose/in/.cadre'), { recursive: true });
  mkdirSync(at('loose/.cadre'), { recursive: true });
  writeFileSync(at('loose/.cadre/config.toml'), OPEN);
  writeFileSync(at('loose/in/.cadre/config.toml'), OPEN);
  await trust(at('loose'));
  expect((await load(at('loose'))).config.sandbox_mode).toBe('danger-full-access');
  expect((await load(at('loose/in'))).config.sandbox_mode).toBe('workspace-write');
});

test('a server of a trusted repository runs in it; a relative folder is below its root', async () => {
  const { load, trust, at } = machine(
    '[mcp_servers.a]\ncommand = "a"\n[mcp_servers.b]\ncommand = "b"\ncwd = "tools"\n[mcp_servers.c]\nurl = "http://127.0.0.1:9"\n',
  );
  await trust();
  const { config } = await load(at('repo/deep/down'));
  expect(config.mcp_servers).toEqual({
    a: { command: 'a', cwd: at('repo') },
    b: { command: 'b', cwd: at('repo/tools') },
    c: { url: 'http://127.0.0.1:9' },
  });
});
