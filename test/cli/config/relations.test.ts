import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type ConfigSources, loadConfig } from '../../../cli/config/load.ts';
import { agentSettingsSchema } from '../../../protocol/index.ts';
import { folderWith } from '../../support/folders.ts';

const USER = 'home/.cadre/config.toml';
const REPOSITORY = 'repo/.cadre/config.toml';

function load(files: Record<string, string>, sources: Partial<ConfigSources> = {}) {
  const root = folderWith(files);
  mkdirSync(join(root, 'repo', '.git'), { recursive: true });
  const environment = { HOME: join(root, 'home'), ...sources.environment };
  return loadConfig({ cwd: join(root, 'repo'), ...sources, environment });
}

test.each([
  [
    '[agents]\nwait_min_ms = 20_000\nwait_max_ms = 19_999',
    '~/.cadre/config.toml:2: agents.wait_min_ms: 20000 is above agents.wait_max_ms, which is 19999 (~/.cadre/config.toml:3): change one of them',
  ],
  [
    '[agents]\nwait_max_ms = 5_000',
    ':2: agents.wait_max_ms: 5000 is below agents.wait_min_ms, which is 10000 (default)',
  ],
  [
    '[agents]\nwait_min_ms = 3_600_000',
    ':2: agents.wait_min_ms: 3600000 is above agents.wait_max_ms, which is 1800000 (default)',
  ],
  [
    '[agents]\nwait_default_ms = 9_999',
    ':2: agents.wait_default_ms: 9999 is below agents.wait_min_ms, which is 10000 (default)',
  ],
  [
    '[agents]\nwait_default_ms = 60_001\nwait_max_ms = 60_000',
    ':2: agents.wait_default_ms: 60001 is above agents.wait_max_ms',
  ],
  ['[agents]\nprofile = "classic"\nwait_min_ms = 300_001', 'which is 300000 (profile classic)'],
  [
    '[agents]\ndialect = "sessions"\nmax_threads = 21',
    ':3: agents.max_threads: 21 is too many with agents.dialect = "sessions"',
  ],
  [
    '[model_providers.p]\nscript = "a.yaml"\nbase_url = "http://localhost:1/v1"',
    ':2: model_providers.p.script: a script plays the model, so model_providers.p.base_url (~/.cadre/config.toml:3) has no use',
  ],
  ['[model_providers.p]\nscript = "a.yaml"\nenv_key = "K"', 'model_providers.p.env_key'],
  [
    '[mcp_servers.m]\ncommand = "x"\nurl = "http://localhost:1"',
    ':2: mcp_servers.m needs either command or url',
  ],
  ['\n[mcp_servers.m]\nargs = ["x"]', ':3: mcp_servers.m needs either command or url'],
  [
    '[mcp_servers.m]\nurl = "http://localhost:1"\nenv = { A = "b" }',
    ':3: mcp_servers.m.env.A: it has no use beside mcp_servers.m.url: leave one of them out',
  ],
  ['[mcp_servers.m]\ncommand = "x"\nbearer_token_env_var = "T"', 'no use beside mcp_servers.m.command'],
])('%j contradicts itself, and is refused with both places', async (text, message) => {
  await expect(load({ [USER]: text })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining(message),
  });
});

test.each([
  ['[agents]\nwait_min_ms = 60_000\nwait_default_ms = 60_000\nwait_max_ms = 60_000'],
  ['[agents]\nmax_tokens = 10\nmax_child_tokens = 20\nmax_agents = 2\nmax_threads = 9'],
  ['[agents]\ndialect = "sessions"\nmax_threads = 20'],
  ['[model_providers.p]\nscript = "a.yaml"\nmodels = ["a"]'],
])('%j holds together', async (text) => {
  await expect(load({ [USER]: text })).resolves.toMatchObject({ notices: [] });
});

test('what contradicts itself between a file and an option is refused by the option', async () => {
  const files = { [USER]: '[agents]\nwait_min_ms = 20_000' };
  await expect(load(files, { overrides: ['agents.wait_max_ms=15_000'] })).rejects.toMatchObject({
    message: expect.stringMatching(/config\.toml:2: agents\.wait_min_ms: .*15000 \(-c agents\.wait_max_ms\)/),
  });
});

test.each([
  ['wait_max_ms = 60_000', 60_000, 'follows agents.wait_max_ms'],
  ['wait_min_ms = 600_000', 600_000, 'follows agents.wait_min_ms'],
  ['profile = "classic"\nwait_max_ms = 20_000', 20_000, 'follows agents.wait_max_ms'],
])('the usual time of a wait that nobody has set follows %j', async (text, value, where) => {
  const { config, originOf } = await load({ [USER]: `[agents]\n${text}` });
  expect(config.agents.wait_default_ms).toBe(value);
  expect(originOf('agents.wait_default_ms')).toEqual({ layer: 'built-in', where });
});

test.each(['[agents]\nwait_max_ms = 5_000', '[profiles.p.agents]\nwait_max_ms = 5_000'])(
  'a repository that contradicts what is in force is ignored there (%j)',
  async (text) => {
    const files = { [USER]: '[profiles.p]\nmodel = "m"', [REPOSITORY]: text };
    const { config, notices } = await load(files, { profile: 'p' });
    expect(config.agents).toMatchObject({ wait_min_ms: 10_000, wait_max_ms: 1_800_000 });
    expect(notices).toEqual([expect.stringContaining('ignored agents.wait_max_ms: 5000 is below')]);
  },
);

test('a script may stand where the address comes from the environment', async () => {
  const files = { [USER]: '[model_providers.openai]\nscript = "a.yaml"' };
  const { config } = await load(files, { environment: { OPENAI_BASE_URL: 'http://localhost:1/v1' } });
  expect(config.model_providers.openai?.base_url).toBe('http://localhost:1/v1');
});

test('what a program gives has to hold together, too', () => {
  const settings = { model: 'm', provider: 'p', working_directory: '/' };
  const limits = { wait_min_ms: 20_000, wait_max_ms: 10_000 };
  expect(agentSettingsSchema.safeParse({ ...settings, limits }).error?.issues).toMatchObject([
    { path: ['limits', 'wait_min_ms'], message: 'it is above wait_max_ms' },
  ]);
});
