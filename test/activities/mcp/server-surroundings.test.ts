import { expect, test } from 'vitest';
import { serverEnvironment } from '../../../activities/mcp/server-surroundings.ts';

test('what npm tells of the folder that it runs in does not reach a server, and what a person says does', () => {
  const environment = {
    HOME: '/home/u',
    NPM_CONFIG_REGISTRY: 'https://registry.example',
    npm_config_registry: 'http://stranger.example',
    npm_package_json: '/srv/clone/package.json',
  };
  const settings = { env: { npm_config_cache: '/var/cache' }, env_vars: ['npm_config_proxy'] };
  const variables = { npm_config_proxy: 'http://proxy.example' };
  expect(serverEnvironment(settings, { environment, variables })).toEqual({
    HOME: '/home/u',
    NPM_CONFIG_REGISTRY: 'https://registry.example',
    npm_config_cache: '/var/cache',
    npm_config_proxy: 'http://proxy.example',
  });
});

test('libraries that anybody could have put among temporary files do not reach a server, nor relative ones', () => {
  const environment = { PYTHONPATH: '.:/tmp:/usr', NODE_OPTIONS: '--import ./x.mjs', NODE_PATH: 'lib' };
  expect(serverEnvironment({}, { environment, variables: {} })).toEqual({ PYTHONPATH: '/usr' });
});
