import { expect, test } from 'vitest';
import { ModelProviders } from '../../../../activities/model/model-providers.ts';
import { endpointOf, shownUrl } from '../../../../activities/model/providers/endpoint.ts';
import { startModelServer } from '../../../support/model-server.ts';

test('OpenAI is reached with its key', () => {
  expect(endpointOf('openai', undefined, { OPENAI_API_KEY: ' sk-1\n' })).toMatchObject({
    baseUrl: 'https://api.openai.com/v1',
    key: 'sk-1',
    isOpenAI: true,
  });
});

test('OpenAI without a key is an error that names the variable', () => {
  expect(() => endpointOf('openai', undefined, {})).toThrow(/OPENAI_API_KEY is not set/);
});

test('OPENAI_BASE_URL names another server, which needs no key', () => {
  const environment = { OPENAI_BASE_URL: 'http://localhost:11434/v1' };
  expect(endpointOf('openai', undefined, environment)).toMatchObject({
    baseUrl: 'http://localhost:11434/v1',
    key: undefined,
    isOpenAI: false,
  });
});

test('the key of OpenAI goes to no other provider', () => {
  const settings = { base_url: 'http://localhost:1/v1' };
  expect(endpointOf('local', settings, { OPENAI_API_KEY: 'sk-1', OPENAI_ORG_ID: 'org' })).toMatchObject({
    key: undefined,
    organization: null,
  });
});

test('a key that is named has to be there', () => {
  const settings = { base_url: 'http://localhost:1/v1', env_key: 'MY_KEY' };
  expect(endpointOf('local', settings, { MY_KEY: 'k' }).key).toBe('k');
  expect(() => endpointOf('local', settings, {})).toThrow(/MY_KEY is not set/);
});

test('a key with a line break in it is refused without being shown', () => {
  const settings = { base_url: 'http://localhost:1/v1', env_key: 'MY_KEY' };
  expect(() => endpointOf('local', settings, { MY_KEY: 'one\ntwo' })).toThrow(
    /^The key in MY_KEY has characters that no key has\.$/,
  );
});

test('an address is shown without what may be secret in it', () => {
  expect(shownUrl('https://me:pass@host/v1/?token=x')).toBe('https://host/v1');
});

test('an unknown provider is an error that names the known ones', () => {
  const providers = new ModelProviders({});
  expect(() => providers.get('other', { local: { base_url: 'http://localhost:1/v1' } })).toThrow(
    expect.objectContaining({
      code: 'config_invalid',
      hint: expect.stringContaining('openai, rehearsal, local'),
    }),
  );
  expect(() => providers.get('local', { local: {} })).toThrow(/no base_url/);
  expect(() => providers.get('script', {})).toThrow(/no script/);
});

test('models are those of the configuration, or what the provider lists', async () => {
  const server = await startModelServer(() => ({}), { models: ['b', 'a'] });
  try {
    const providers = new ModelProviders({});
    const local = { base_url: server.url };
    expect(await providers.models('local', { local })).toEqual(['a', 'b']);
    expect(await providers.models('local', { local: { ...local, models: ['only'] } })).toEqual(['only']);
    expect(await providers.models('rehearsal', {})).toEqual(['rehearsal']);
  } finally {
    await server.close();
  }
});
