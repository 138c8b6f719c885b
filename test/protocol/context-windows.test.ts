import { expect, test } from 'vitest';
import { contextWindow, isNearlyFull } from '../../protocol/index.ts';

test('what the configuration says goes first: the name of the model, then the first glob', () => {
  const settings = { context_windows: { 'm-*': 8_000, 'm-long*': 1, 'm-long': 32_000 } };
  expect(contextWindow('local', settings, 'm-long')).toBe(32_000);
  expect(contextWindow('local', settings, 'm-longer')).toBe(8_000);
  expect(contextWindow('local', settings, 'other')).toBeUndefined();
});

test('OpenAI’s models are known where they are OpenAI’s', () => {
  expect(contextWindow('openai', undefined, 'gpt-5.6-terra')).toBe(272_000);
  expect(contextWindow('openai', undefined, 'gpt-4o-mini')).toBe(128_000);
  expect(contextWindow('openai', undefined, 'gpt-4.1-mini')).toBe(1_000_000);
  expect(contextWindow('openai', { base_url: 'http://127.0.0.1:1/v1' }, 'gpt-5')).toBeUndefined();
  expect(contextWindow('openai', undefined, 'house-model')).toBeUndefined();
});

test('a window of which nothing is known is never full', () => {
  expect(isNearlyFull(1e9, undefined)).toBe(false);
  expect(isNearlyFull(84, 100)).toBe(false);
  expect(isNearlyFull(85, 100)).toBe(true);
});
