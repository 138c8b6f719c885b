import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { modelLister } from '../../../cli/config/list-models.ts';
import { chooseModel } from '../../../cli/config/model.ts';
import { chooseProvider, requireKey } from '../../../cli/config/provider.ts';
import { type Config, configSchema } from '../../../cli/config/schema.ts';
import { DEFAULT_OPENAI_MODEL } from '../../../protocol/settings.ts';

const config = (values: unknown): Config => configSchema.parse(values);
const local = { base_url: 'http://127.0.0.1:9/v1' };
const never = async (): Promise<string[]> => {
  throw new Error('nobody should ask');
};

test.each([
  ['nothing', {}, {}, 'rehearsal'],
  ['a key', {}, { OPENAI_API_KEY: 'k' }, 'openai'],
  ['a base URL', { model_providers: { openai: local } }, {}, 'openai'],
  ['one configured provider', { model_providers: { local } }, {}, 'local'],
  [
    'a name',
    { model_provider: 'local', model_providers: { local, other: local } },
    { OPENAI_API_KEY: 'k' },
    'local',
  ],
  ['the rehearsal by name', { model_provider: 'rehearsal' }, { OPENAI_API_KEY: 'k' }, 'rehearsal'],
])('with %s the provider follows', (_what, values, environment, name) => {
  expect(chooseProvider(config(values), environment).name).toBe(name);
});

test('several configured providers ask for a choice', () => {
  expect(() => chooseProvider(config({ model_providers: { a: local, b: local } }), {})).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      message: 'several model providers are configured: a, b',
    }),
  );
});

test('an unknown provider is refused with the closest one', () => {
  expect(() => chooseProvider(config({ model_provider: 'opnai' }), {})).toThrow(/the closest is openai/);
  const doubled = config({ model_provider: 'zzz', model_providers: { openai: {} } });
  expect(() => chooseProvider(doubled, {})).toThrow(
    expect.objectContaining({
      message: 'model_provider names zzz, which is not configured',
      hint: expect.stringContaining('choose one of: openai, rehearsal, script.'),
    }),
  );
});

test('the script provider needs a script', () => {
  expect(() => chooseProvider(config({ model_provider: 'script' }), {})).toThrow(/needs a script/);
});

test.each([
  [{ model_provider: 'openai' }, {}, false],
  [{ model_provider: 'openai' }, { OPENAI_API_KEY: 'k' }, true],
  [{ model_provider: 'openai', model_providers: { openai: local } }, {}, true],
  [{ model_provider: 'p', model_providers: { p: { ...local, env_key: 'P' } } }, {}, false],
  [{ model_provider: 'p', model_providers: { p: { ...local, env_key: 'P' } } }, { P: 'k' }, true],
  [{ model_provider: 'p', model_providers: { p: local } }, {}, true],
  [{}, {}, true],
])('a missing key is found before anything starts (%j, %j)', (values, environment, fine) => {
  const check = () => requireKey(chooseProvider(config(values), environment), environment);
  if (fine) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code: 'config_invalid' }));
});

test.each([
  ['the configured one', { model: 'm' }, { OPENAI_API_KEY: 'k' }, 'm'],
  ['an alias', { model: 'fast', model_aliases: { fast: 'gpt-mini' } }, { OPENAI_API_KEY: 'k' }, 'gpt-mini'],
  ['the default of OpenAI', {}, { OPENAI_API_KEY: 'k' }, DEFAULT_OPENAI_MODEL],
  ['the only one configured', { model_providers: { p: { ...local, models: ['one'] } } }, {}, 'one'],
  ['the rehearsal', {}, {}, 'rehearsal'],
])('the model is %s', async (_what, values, environment, model) => {
  const chosen = config(values);
  expect(await chooseModel(chosen, chooseProvider(chosen, environment), never)).toBe(model);
});

test.each([
  ['agents.allowed_models', { model: 'x', agents: { allowed_models: ['gpt-a', 'gpt-b'] } }],
  [
    'model_providers.openai.models',
    { model: 'x', model_providers: { openai: { models: ['gpt-a', 'gpt-b'] } } },
  ],
])('a model outside %s is refused with the list', async (key, values) => {
  const chosen = config(values);
  const choice = chooseProvider(chosen, { OPENAI_API_KEY: 'k' });
  await expect(chooseModel(chosen, choice, never)).rejects.toMatchObject({
    code: 'unknown_model',
    message: `the model x is not among ${key}: gpt-a, gpt-b`,
  });
});

const script = { script: '/plays/a.yaml' };

test.each([
  ['its own name', { model: 'script' }, script, 'script'],
  ['the first of its list', {}, { ...script, models: ['a', 'b'] }, 'a'],
  ['one of its list', { model: 'b' }, { ...script, models: ['a', 'b'] }, 'b'],
  ['an alias of one', { model: 'x', model_aliases: { x: 'script' } }, script, 'script'],
])('a script plays %s', async (_what, values, settings, model) => {
  const chosen = config({ ...values, model_provider: 'script', model_providers: { script: settings } });
  expect(await chooseModel(chosen, chooseProvider(chosen, {}), never)).toBe(model);
});

test('a script without a list of models plays no other than its own', async () => {
  const chosen = config({ model: 'gpt-x', model_provider: 'p', model_providers: { p: script } });
  await expect(chooseModel(chosen, chooseProvider(chosen, {}), never)).rejects.toMatchObject({
    code: 'unknown_model',
    hint: expect.stringContaining('model_providers.p.models'),
  });
});

test.each([
  [{ model: 'gpt-5.1', reasoning_effort: 'max' }, 'none, low, medium, high'],
  [
    {
      model: 'm',
      reasoning_effort: 'low',
      model_providers: { openai: { reasoning_efforts: { m: ['high'] } } },
    },
    'It takes high',
  ],
])('an effort that the model does not take is refused before anything starts (%j)', async (values, hint) => {
  const chosen = config(values);
  const choice = chooseProvider(chosen, { OPENAI_API_KEY: 'k' });
  await expect(chooseModel(chosen, choice, never)).rejects.toMatchObject({
    code: 'config_invalid',
    hint: expect.stringContaining(hint),
  });
});

async function serving(
  status: number,
  body: unknown,
): Promise<{ base_url: string; keys: (string | undefined)[] }> {
  const keys: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization);
    response.writeHead(request.url === '/v1/models' ? status : 404);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return { base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`, keys };
}

async function modelAt(base_url: string, environment: Record<string, string> = {}, name = 'openai') {
  const chosen = config({ model_providers: { [name]: { base_url } } });
  return chooseModel(chosen, chooseProvider(chosen, environment), modelLister(environment));
}

test('another base URL gives the only model that it lists', async () => {
  const { base_url, keys } = await serving(200, { data: [{ id: 'llama' }] });
  expect(await modelAt(base_url, { OPENAI_API_KEY: 'k' })).toBe('llama');
  expect(keys).toEqual(['Bearer k']);
});

test('the key of OpenAI is not sent to a provider of another name', async () => {
  const { base_url, keys } = await serving(200, { data: [{ id: 'llama' }] });
  const chosen = config({ model_provider: 'mine', model_providers: { mine: { base_url } } });
  const environment = { OPENAI_API_KEY: 'k' };
  await chooseModel(chosen, chooseProvider(chosen, environment), modelLister(environment));
  expect(keys).toEqual([undefined]);
});

test('several models are listed in the error', async () => {
  const { base_url } = await serving(200, { data: [{ id: 'a' }, { id: 'b' }] });
  await expect(modelAt(base_url)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('it has a, b'),
  });
});

test.each([
  ['nothing listed', 200, { data: [] }],
  ['no list', 200, 'hello'],
  ['an address without any list', 404, {}],
])('%s asks for --model', async (_what, status, body) => {
  const { base_url } = await serving(status, body);
  await expect(modelAt(base_url)).rejects.toMatchObject({ code: 'config_invalid' });
});

test.each([
  [401, 'model_refused', 'OPENAI_API_KEY'],
  [403, 'model_refused', 'OPENAI_API_KEY'],
  [429, 'model_unreachable', '--model'],
  [503, 'model_unreachable', '--model'],
])(
  'a list of models that is answered with %i counts as such a call of the model would',
  async (status, code, hint) => {
    const { base_url } = await serving(status, {});
    await expect(modelAt(base_url)).rejects.toMatchObject({ code, hint: expect.stringContaining(hint) });
  },
);

test('a server that is not there counts as unreachable', async () => {
  await expect(modelAt('http://127.0.0.1:9/v1')).rejects.toMatchObject({ code: 'model_unreachable' });
});
