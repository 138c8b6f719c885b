import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type ConfigSources, loadConfig } from '../../../cli/config/load.ts';
import { folderWith } from '../../support/folders.ts';

const USER = 'home/.cadre/config.toml';
const REPOSITORY = 'repo/.cadre/config.toml';

function load(files: Record<string, string>, sources: Partial<ConfigSources> = {}) {
  const root = folderWith(files);
  mkdirSync(join(root, 'repo', '.git'), { recursive: true });
  mkdirSync(join(root, 'repo', 'src'), { recursive: true });
  const environment = { HOME: join(root, 'home'), ...sources.environment };
  return loadConfig({ cwd: join(root, 'repo', 'src'), ...sources, environment });
}

test('without any file everything has its default', async () => {
  const { config, originOf, files, notices } = await load({});
  expect(config.agents.max_depth).toBe(3);
  expect(config.sandbox_mode).toBe('workspace-write');
  expect(originOf('agents.max_depth')).toEqual({ layer: 'default', where: 'default' });
  expect({ files, notices }).toEqual({ files: [], notices: [] });
});

test('later places win: file, repository, profile, environment, override, flag', async () => {
  const files = {
    [USER]:
      'model = "user"\nreasoning_effort = "low"\n[agents]\nmax_depth = 1\n[profiles.deep.agents]\nmax_depth = 5\n',
    [REPOSITORY]: 'model = "repository"\n[agents]\ncount = "open"\n',
  };
  const plain = await load(files);
  expect(plain.config.model).toBe('repository');
  expect(plain.config.agents).toMatchObject({ max_depth: 1, count: 'open' });
  const profiled = await load(files, { profile: 'deep', overrides: ['model=override'] });
  expect(profiled.config.agents.max_depth).toBe(5);
  expect(profiled.config.model).toBe('override');
  const flagged = await load(files, {
    overrides: ['model=override'],
    flags: [{ path: ['model'], value: 'flag', where: '--model' }],
  });
  expect(flagged.config.model).toBe('flag');
  expect(flagged.originOf('model')).toEqual({ layer: 'flag', where: '--model' });
});

test('each value knows file and line, profile, variable or option it came from', async () => {
  const { originOf } = await load(
    {
      [USER]:
        '# mine\nmodel = "m"\n\n[agents]\n# few\nmax_threads = 4\n[profiles.x]\nreasoning_effort = "high"\n',
      [REPOSITORY]: 'agents.max_depth = 2\n',
    },
    {
      profile: 'x',
      overrides: ['tools.plan=false'],
      environment: {
        OPENAI_BASE_URL: 'http://localhost:1/v1',
        TEMPORAL_ADDRESS: 'h:1',
        TEMPORAL_TLS: 'true',
      },
    },
  );
  expect(originOf('model')).toEqual({ layer: 'user', where: '~/.cadre/config.toml:2' });
  expect(originOf('agents.max_threads').where).toBe('~/.cadre/config.toml:6');
  expect(originOf('agents.max_depth').where).toMatch(/repo\/\.cadre\/config\.toml:1$/);
  expect(originOf('reasoning_effort')).toEqual({
    layer: 'profile',
    where: '~/.cadre/config.toml:8 (profile x)',
  });
  expect(originOf('tools.plan').where).toBe('-c tools.plan');
  expect(originOf('model_providers.openai.base_url').where).toBe('OPENAI_BASE_URL');
  expect(originOf('temporal.address')).toEqual({ layer: 'environment', where: 'TEMPORAL_ADDRESS' });
  expect(originOf('temporal.tls.disabled').where).toBe('TEMPORAL_TLS');
});

test('CADRE_CONFIG names another file, and a missing one is an error', async () => {
  const folder = folderWith({ 'other.toml': 'model = "other"' });
  const files = { [USER]: 'model = "home"' };
  const { config } = await load(files, { environment: { CADRE_CONFIG: join(folder, 'other.toml') } });
  expect(config.model).toBe('other');
  await expect(
    load(files, { environment: { CADRE_CONFIG: join(folder, 'none.toml') } }),
  ).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('none.toml, which does not exist'),
  });
});

test('the home folder as working directory reads its file once, as the person’s own', async () => {
  const home = folderWith({ '.cadre/config.toml': 'sandbox_mode = "danger-full-access"' });
  const { config, notices, files } = await loadConfig({ cwd: home, environment: { HOME: home } });
  expect(config.sandbox_mode).toBe('danger-full-access');
  expect({ notices, count: files.length }).toEqual({ notices: [], count: 1 });
});

test.each([
  ['[agents]\nmax_thread = 3', ':2: unknown key agents.max_thread; did you mean agents.max_threads?'],
  ['max_threads = 3', ':1: unknown key max_threads; did you mean agents.max_threads?'],
  ['\nmodle = "x"', ':2: unknown key modle; did you mean model?'],
  [
    '[profiles.p]\nsandbox_mod = "read-only"',
    'unknown key profiles.p.sandbox_mod; did you mean profiles.p.sandbox_mode?',
  ],
  [
    'sandbox = "read-only"',
    ':1: sandbox: it is a table (writable_roots, network); did you mean sandbox_mode?',
  ],
  ['[model_providers.x]\nurl = "http://a"', 'did you mean'],
  ['[agents]\nmax_threads = "many"', ':2: agents.max_threads: '],
  ['sandbox_mode = "loose"', ':1: sandbox_mode: '],
  ['model = ', ':1: not valid TOML'],
  ['[temporal.tls]\nserver = "x"', 'unknown key temporal.tls.server; did you mean temporal.tls.server_name?'],
])('%j is refused with its place', async (text, message) => {
  await expect(load({ [USER]: text })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining(message),
  });
});

test.each([
  ['agnts.max_depth=1', '-c agnts.max_depth: unknown key agnts'],
  ['model_providers.x.base_url="http://me:pw@host/v1"', 'model_providers.x.base_url: no user or password'],
  [
    'model_providers.x.env_key="sk-proj-abc"',
    'model_providers.x.env_key: the name of an environment variable',
  ],
  ['model_retry_ms=1e300', '-c model_retry_ms: '],
])('-c %s is refused with its place', async (override, message) => {
  const error = await load({}, { overrides: [override] }).catch((e) => e);
  expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringContaining(message) });
  expect(error.message).not.toMatch(/pw@|sk-proj/);
});

test('a file that is no UTF-8 is refused with its line, not read as another value', async () => {
  const root = folderWith({ [USER]: '' });
  const bytes = Buffer.from('# fine\n[model_aliases]\nfast = "gro\xdf"\n', 'latin1');
  writeFileSync(join(root, USER), bytes);
  await expect(loadConfig({ cwd: root, environment: { HOME: join(root, 'home') } })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('config.toml:3: not valid TOML: it is not UTF-8'),
  });
});

test('all problems are named at once', async () => {
  const error = await load({ [USER]: 'modle = 1\nsandbox_mode = 2' }).catch((e) => e);
  expect(error.message.split('\n')).toHaveLength(2);
});

test('a key named __proto__ is unknown like any other', async () => {
  await expect(load({ [USER]: '[agents]\n"__proto__" = { max_depth = 1 }' })).rejects.toMatchObject({
    code: 'config_invalid',
  });
});

test('a profile that nobody defines is refused with the closest one', async () => {
  await expect(
    load({ [USER]: '[profiles.careful]\nmodel = "x"' }, { profile: 'carefull' }),
  ).rejects.toMatchObject({
    code: 'config_invalid',
    message: 'there is no profile carefull; the closest is careful',
  });
  await expect(load({ [USER]: '# mine\nprofile = "nope"' })).rejects.toMatchObject({
    message: '~/.cadre/config.toml:2: there is no profile nope',
  });
  await expect(load({ [USER]: 'profile = "nope"' }, { overrides: ['profile=never'] })).rejects.toMatchObject({
    message: '-c profile: there is no profile never',
  });
});

test('a profile may be chosen in the file, and --profile wins over it', async () => {
  const files = { [USER]: 'profile = "a"\n[profiles.a]\nmodel = "a"\n[profiles.b]\nmodel = "b"' };
  expect((await load(files)).config.model).toBe('a');
  const chosen = await load(files, { profile: 'b' });
  expect(chosen.config).toMatchObject({ model: 'b', profile: 'b' });
});

test.each([
  ['flag', {}, 'classic'],
  ['file', { [USER]: 'profile = "classic"' }, undefined],
  ['agents table', { [USER]: '[agents]\nprofile = "classic"' }, undefined],
])('the classic limits are defaults (by %s)', async (_how, files: Record<string, string>, profile) => {
  const { config, originOf } = await load(files, { profile, overrides: ['agents.max_threads=7'] });
  expect(config.agents).toMatchObject({
    count: 'open',
    wait_min_ms: 10_000,
    wait_default_ms: 30_000,
    wait_max_ms: 300_000,
    max_threads: 7,
  });
  expect(originOf('agents.count')).toEqual({ layer: 'built-in', where: 'profile classic' });
  expect((await load(files, { profile })).config.agents.max_threads).toBe(5);
});

test('a dialect brings its own limits, and the configuration wins over them', async () => {
  const limitsOf = async (dialect: string) => {
    const { max_depth, max_threads } = (await load({ [USER]: `[agents]\ndialect = "${dialect}"` })).config
      .agents;
    return { max_depth, max_threads };
  };
  expect(await limitsOf('collab')).toEqual({ max_depth: 3, max_threads: 12 });
  expect(await limitsOf('named')).toEqual({ max_depth: 1, max_threads: 12 });
  expect(await limitsOf('mailbox')).toEqual({ max_depth: 1, max_threads: 12 });
  expect(await limitsOf('sessions')).toEqual({ max_depth: 3, max_threads: 10 });
  const deeper = await load({ [USER]: '[agents]\ndialect = "named"\nmax_depth = 4' });
  expect(deeper.config.agents.max_depth).toBe(4);
});

test('paths in a file are relative to it, those of -c to the working directory', async () => {
  const root = folderWith({ [USER]: '[model_providers.script]\nscript = "plays/a.yaml"' });
  const environment = { HOME: join(root, 'home') };
  const inFile = await loadConfig({ cwd: root, environment });
  expect(inFile.config.model_providers.script?.script).toBe(join(root, 'home/.cadre/plays/a.yaml'));
  const roots = folderWith({ [USER]: '[sandbox]\nwritable_roots = ["a", "~/b", "/c"]' });
  const listed = await loadConfig({ cwd: roots, environment: { HOME: join(roots, 'home') } });
  expect(listed.config.sandbox.writable_roots).toEqual([
    join(roots, 'home/.cadre/a'),
    join(roots, 'home/b'),
    '/c',
  ]);
  const overrides = ['model_providers.script.script=./b.yaml'];
  const onLine = await loadConfig({ cwd: root, environment, overrides });
  expect(onLine.config.model_providers.script?.script).toBe(join(root, 'b.yaml'));
});

test.each(['memory.path', 'encryption.key_file', 'rollouts.directory'])(
  'an empty %s is no path',
  async (key) => {
    const [table, name] = key.split('.');
    const refused = { code: 'config_invalid', message: expect.stringContaining(key) };
    await expect(load({ [USER]: `[${table}]\n${name} = ""` })).rejects.toMatchObject(refused);
    await expect(load({}, { overrides: [`${key}=""`] })).rejects.toMatchObject(refused);
  },
);

test('temporal.toml lies below its variables and above the configuration', async () => {
  const folder = folderWith({
    'temporal.toml':
      '[profile.default]\naddress = "toml:1"\nnamespace = "toml"\n[profile.prod]\naddress = "prod:1"\napi_key = "k"\n',
  });
  const environment = { TEMPORAL_CONFIG_FILE: join(folder, 'temporal.toml') };
  const files = { [USER]: '[temporal]\naddress = "config:1"\ntask_queue = "q"' };
  const byFile = await load(files, { environment });
  expect(byFile.config.temporal).toEqual({ address: 'toml:1', namespace: 'toml', task_queue: 'q' });
  const byVariable = await load(files, { environment: { ...environment, TEMPORAL_ADDRESS: 'env:1' } });
  expect(byVariable.config.temporal).toMatchObject({ address: 'env:1', namespace: 'toml' });
  const byProfile = await load(files, { environment: { ...environment, TEMPORAL_PROFILE: 'prod' } });
  expect(byProfile.config.temporal).toMatchObject({ address: 'prod:1', api_key: 'k' });
  await expect(
    load(files, { environment: { ...environment, TEMPORAL_PROFILE: 'none' } }),
  ).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('temporal.toml'),
  });
});

test('empty variables count as unset', async () => {
  const { config } = await load({}, { environment: { TEMPORAL_ADDRESS: '', OPENAI_BASE_URL: '' } });
  expect(config.temporal.address).toBeUndefined();
  expect(config.model_providers).toEqual({});
});

test.each([
  ['env = { GITHUB_TOKEN = "ghp_x" }', /mcp_servers\.m\.env\.GITHUB_TOKEN: .*name it in env_vars/],
  ['env = { DB = "postgres://me:secret@host/db" }', /mcp_servers\.m\.env\.DB: no password may stand in it/],
  [
    'args = ["postgres://me:secret@host/db"]',
    /mcp_servers\.m\.args(\[0\]|\.0)?: no password may stand in it/,
  ],
  ['bearer_token_env_var = "ghp_abc-def"', /the name of an environment variable, not the key itself/],
  [
    'tools_alow = ["a"]',
    /unknown key mcp_servers\.m\.tools_alow; did you mean mcp_servers\.m\.tools_allow\?/,
  ],
  ['timeout_ms = 0', /mcp_servers\.m\.timeout_ms/],
])('what no server may be set to is refused by its key: %s', async (line, message) => {
  const text = `[mcp_servers.m]\ncommand = "x"\n${line}`;
  await expect(load({ [USER]: text })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(message),
  });
});

test('the name of a server is one that the names of its tools can begin with', async () => {
  for (const name of ['"a b"', 'a__b', '"a.b"']) {
    await expect(load({ [USER]: `[mcp_servers.${name}]\ncommand = "x"` })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('letters and digits, with single - or _ between them'),
    });
  }
});

test.each(['max_tokens', 'max_wall_ms', 'max_runtime_ms'] as const)(
  'a limit that has no default is taken from the configuration: agents.%s',
  async (limit) => {
    const { config } = await load({}, { overrides: [`agents.${limit}=1000`] });
    expect(config.agents[limit]).toBe(1000);
  },
);

test('CADRE_MEMORY switches the memory on and off, after the file and before -c', async () => {
  const files = { [USER]: '[memory]\nenabled = true\npath = "notes.md"\n' };
  const enabled = async (CADRE_MEMORY: string, overrides: string[] = []) =>
    (await load(files, { environment: { CADRE_MEMORY }, overrides })).config.memory.enabled;
  expect([await enabled('off'), await enabled('ON'), await enabled('')]).toEqual([false, true, true]);
  expect(await enabled('off', ['memory.enabled=true'])).toBe(true);
  await expect(enabled('maybe')).rejects.toMatchObject({ code: 'config_invalid' });
  const { config, originOf, notices } = await load(files, { environment: { CADRE_MEMORY: '1' } });
  expect(config.memory.path).toMatch(/home\/\.cadre\/notes\.md$/);
  expect(originOf('memory.enabled').where).toBe('CADRE_MEMORY');
  expect(notices).toEqual([]);
});
