import { expect, test } from 'vitest';
import { type Config, configSchema } from '../../cli/config/schema.ts';
import {
  agentSettingsOf,
  type SessionChoices,
  sessionSettingsOf,
  taskOf,
} from '../../cli/session-settings.ts';
import { agentSettingsSchema, sessionSettingsSchema } from '../../protocol/index.ts';

const choices = (config: unknown, more: Partial<SessionChoices> = {}): SessionChoices => ({
  config: configSchema.parse(config) as Config,
  provider: { name: 'mine', settings: {}, keyVariable: undefined, keyRequired: false },
  model: 'm',
  role: 'default',
  cwd: '/work',
  environment: {},
  searchAttributes: [],
  oneShot: true,
  waitAgents: true,
  nonInteractive: true,
  ...more,
});

test('the settings of the root are those of the configuration, and make sense to an agent', () => {
  const settings = agentSettingsOf(
    choices({
      sandbox_mode: 'read-only',
      reasoning_effort: 'low',
      agents: { max_depth: 1 },
    }),
  );
  expect(agentSettingsSchema.parse(settings)).toEqual(settings);
  expect(settings).toMatchObject({
    role: 'default',
    model: 'm',
    provider: 'mine',
    reasoning_effort: 'low',
    working_directory: '/work',
    sandbox_mode: 'read-only',
    approval_policy: 'on-request',
    dialect: 'collab',
    limits: { max_depth: 1, max_steps: 200 },
  });
});

test('whether somebody can be asked is told to the session', () => {
  for (const nonInteractive of [true, false]) {
    expect(sessionSettingsOf(choices({}, { nonInteractive })).non_interactive).toBe(nonInteractive);
  }
});

test('a local session takes the environment along, without what looks like a key', () => {
  const environment = { HOME: '/h', OPENAI_API_KEY: 'k', GITHUB_TOKEN: 't', KEYMAP: 'de', EDITOR: 'ed' };
  const config = { shell_environment: { include: ['KEYMAP'], exclude: ['EDITOR'] } };
  const session = sessionSettingsOf(choices(config, { environment }));
  expect(session.environment).toEqual({ HOME: '/h', KEYMAP: 'de' });
  expect(sessionSettingsSchema.parse(session)).toEqual(session);
});

test('a variable that holds the key of a provider stays behind, whatever its name looks like', () => {
  const environment = { HOME: '/h', MY_ACCESS: 'k', OTHER: 'o' };
  const config = {
    model_providers: { mine: { env_key: 'MY_ACCESS' }, other: { env_key: 'OTHER' } },
    shell_environment: { include: ['MY_ACCESS'] },
  };
  const { mine } = configSchema.parse(config).model_providers;
  const provider = { name: 'mine', settings: mine ?? {}, keyVariable: 'MY_ACCESS', keyRequired: true };
  const session = sessionSettingsOf(choices(config, { environment, provider }));
  expect(session.environment).toEqual({ HOME: '/h' });
});

test('a queued session takes no environment along: it has that of its workers', () => {
  const environment = { HOME: '/h' };
  const session = sessionSettingsOf(choices({ temporal: { task_queue: 'q' } }, { environment }));
  expect(session).not.toHaveProperty('environment');
});

test('the chosen provider is known to the session, also one that no file mentions', () => {
  const provider = { name: 'openai', settings: {}, keyVariable: 'OPENAI_API_KEY', keyRequired: true };
  expect(sessionSettingsOf(choices({}, { provider })).model_providers).toEqual({ openai: {} });
});

test('a task with images is text first, then each image by its path and digest', () => {
  expect(taskOf('look', [])).toBe('look');
  expect(
    taskOf('look', [
      { path: '/a.png', sha256: 'aa' },
      { path: '/b.png', sha256: 'bb' },
    ]),
  ).toEqual([
    { type: 'text', text: 'look' },
    { type: 'local_image', path: '/a.png', sha256: 'aa' },
    { type: 'local_image', path: '/b.png', sha256: 'bb' },
  ]);
});

test('only a session of a queue hands its model calls out', () => {
  const settings = (temporal: object) => agentSettingsOf(choices({ temporal }));
  expect(settings({ task_queue: 'q', model_queue: true })).toMatchObject({ model_queue: true });
  expect(settings({ model_queue: true })).not.toHaveProperty('model_queue');
  expect(settings({ task_queue: 'q' })).not.toHaveProperty('model_queue');
});

test('a local session names its memory file; a queued one leaves it to its workers; none has one unless it is on', () => {
  const environment = { CADRE_HOME: '/state' };
  const memoryOf = (config: object) => sessionSettingsOf(choices(config, { environment })).memory;
  expect(memoryOf({})).toBeUndefined();
  expect(memoryOf({ memory: { path: '/notes.md' } })).toBeUndefined();
  expect(memoryOf({ memory: { enabled: true } })).toEqual({ path: '/state/memory.md' });
  expect(memoryOf({ memory: { enabled: true, path: '/notes.md' } })).toEqual({ path: '/notes.md' });
  const temporal = { task_queue: 'q' };
  expect(memoryOf({ memory: { enabled: true, path: '/notes.md' }, temporal })).toEqual({});
});

test('what the sandbox opens is told to the root where it opens anything', () => {
  expect(agentSettingsOf(choices({})).sandbox).toBeUndefined();
  const sandbox = { writable_roots: ['/srv/cache'], network: true };
  const settings = agentSettingsOf(choices({ sandbox }));
  expect(settings.sandbox).toEqual(sandbox);
  expect(agentSettingsSchema.parse(settings)).toEqual(settings);
  expect(agentSettingsSchema.safeParse({ ...settings, sandbox: { writable_roots: ['here'] } }).success).toBe(
    false,
  );
});
