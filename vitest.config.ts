import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { cacheDir } from './server/index.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Threads crash Temporal's native core.
    pool: 'forks',
    // Most of a test's time is spent waiting, so that even two cores serve two files at once.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    globalSetup: 'test/support/global-setup.ts',
    // A machine with two noisy cores may starve a test; vitest's report shows what needed another try.
    retry: process.env.CI === 'true' ? 2 : 0,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What was brought once serves every test, also those that have a HOME of their own.
    env: { CADRE_CACHE: cacheDir() },
  },
});
