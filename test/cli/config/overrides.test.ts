import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseOverride } from '../../../cli/config/overrides.ts';

test.each([
  ['model=gpt-5.2', ['model'], 'gpt-5.2'],
  ['model="quoted"', ['model'], 'quoted'],
  ['model=5', ['model'], '5'],
  ['agents.max_depth=2', ['agents', 'max_depth'], 2],
  ['agents.max_depth = 2', ['agents', 'max_depth'], 2],
  ['tools.plan=false', ['tools', 'plan'], false],
  ['agents.allowed_models=["a", "b"]', ['agents', 'allowed_models'], ['a', 'b']],
  ['agents={max_depth=1}', ['agents'], { max_depth: 1 }],
  [
    'model_providers."a.b".base_url=http://h/v1?x=1',
    ['model_providers', 'a.b', 'base_url'],
    'http://h/v1?x=1',
  ],
  ['model=', ['model'], ''],
])('%s', (text, path, value) => {
  expect(parseOverride(text)).toEqual({ path, value });
});

test.each(['model', '=x', 'a b=c', 'a..b=c', ''])('%j is no override', (text) => {
  expect(() => parseOverride(text)).toThrow(expect.objectContaining({ code: 'usage' }));
});

test('whatever the text, the answer is a path and a value or a usage error', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (key, value) => {
      try {
        expect(parseOverride(`${key}=${value}`).path.length).toBeGreaterThan(0);
      } catch (error) {
        expect(error).toMatchObject({ code: 'usage' });
      }
    }),
  );
});
