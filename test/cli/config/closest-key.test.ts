import { expect, test } from 'vitest';
import { closestKey, closestName, knownKeys } from '../../../cli/config/closest-key.ts';
import { configSchema } from '../../../cli/config/schema.ts';

const known = knownKeys(configSchema);

test('the schema tells all keys, also below optional tables, records and unions', () => {
  expect(known).toContain('agents.max_threads');
  expect(known).toContain('encryption.key_env');
  expect(known).toContain('model_providers.<name>.base_url');
  expect(known).toContain('temporal.tls.client_cert_path');
});

test.each([
  ['agents.max_dept', 'agents.max_depth'],
  ['max_depth', 'agents.max_depth'],
  ['agent.max_depth', 'agents.max_depth'],
  ['sandbox_mod', 'sandbox_mode'],
  ['temporal.adress', 'temporal.address'],
  ['tools.websearch', 'tools.web_search'],
])('%s means %s', (unknown, meant) => {
  expect(closestKey(unknown, known)).toBe(meant);
});

test.each(['bogus_key', 'agents.colour', 'zzz'])('%s means nothing that is known', (unknown) => {
  expect(closestKey(unknown, known)).toBeUndefined();
});

test('of no names none is closest', () => {
  expect(closestName('none', ['classic', 'careful'])).toBeUndefined();
  expect(closestName('x', [])).toBeUndefined();
  expect(closestName('gpt-5', ['claude', 'gpt-5.2'])).toBe('gpt-5.2');
});
