import { expect, test } from 'vitest';
import { retryAfterMs } from '../../../../activities/model/providers/retry-after.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

test.each([
  [{ 'retry-after': '3' }, 3_000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after-ms': '250', 'retry-after': '3' }, 250],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:10 GMT' }, 10_000],
  [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, undefined],
  [{ 'retry-after': '0' }, undefined],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': '-5' }, undefined],
  [{}, undefined],
])('%o is %s ms', (headers, ms) => {
  expect(retryAfterMs(new Headers(headers as Record<string, string>), NOW)).toBe(ms);
});
