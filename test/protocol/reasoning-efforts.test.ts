import { describe, expect, test } from 'vitest';
import { acceptedEfforts, DEFAULT_OPENAI_MODEL, providerSettingsSchema } from '../../protocol/index.ts';

describe('what the configuration says of a provider', () => {
  const settings = providerSettingsSchema.parse({
    reasoning_efforts: { 'gpt-*': ['low'], 'gpt-5-*': ['medium'], 'gpt-5.6-terra': ['high'] },
  });

  test('goes first: the name of the model before globs, of these the first that matches', () => {
    expect(acceptedEfforts('openai', settings, 'gpt-5.6-terra')).toEqual(['high']);
    expect(acceptedEfforts('openai', settings, 'gpt-5-mini')).toEqual(['low']);
    expect(acceptedEfforts('other', settings, 'gpt-5-mini')).toEqual(['low']);
    expect(acceptedEfforts('other', settings, 'else')).toBeUndefined();
  });

  test.each([
    { reasoning_efforts: { m: [] } },
    { reasoning_efforts: { m: ['enormous'] } },
    { reasoning_efforts: { m: 'low' } },
    { reasoning_efforts: { '': ['low'] } },
    { reasoning_efforts: ['low'] },
  ])('is refused when it is no list of efforts by model: %j', (wrong) => {
    expect(providerSettingsSchema.safeParse(wrong).success).toBe(false);
  });
});

describe('what is known of OpenAI', () => {
  test.each([
    [DEFAULT_OPENAI_MODEL, ['none', 'low', 'medium', 'high', 'xhigh', 'max']],
    ['gpt-5.2', ['none', 'low', 'medium', 'high', 'xhigh']],
    ['gpt-5.2-2025-12-11', ['none', 'low', 'medium', 'high', 'xhigh']],
    ['gpt-5.1', ['none', 'low', 'medium', 'high']],
    ['gpt-5', ['minimal', 'low', 'medium', 'high']],
    ['gpt-5-pro', ['high']],
  ])('%s', (model, efforts) => {
    expect(acceptedEfforts('openai', undefined, model)).toEqual(efforts);
    const official = { base_url: 'https://api.openai.com/v1' };
    expect(acceptedEfforts('openai', official, model)).toEqual(efforts);
  });

  test.each(['gpt-7', 'gpt-5.2-chat-latest', 'constructor', '__proto__', ''])('nothing of %j', (model) => {
    expect(acceptedEfforts('openai', undefined, model)).toBeUndefined();
  });

  test('does not bind other servers, nor scripts, that have models of the same name', () => {
    const other = { base_url: 'http://localhost:1234/v1' };
    expect(acceptedEfforts('openai', other, 'gpt-5')).toBeUndefined();
    expect(acceptedEfforts('openai', { script: './s.yaml' }, 'gpt-5')).toBeUndefined();
    expect(acceptedEfforts('local', undefined, 'gpt-5')).toBeUndefined();
  });
});
