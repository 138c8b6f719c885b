import type { ViteUserConfig } from 'vitest/config';
import config from '../../vitest.config.ts';

/** What `npm run record-histories` runs. */
const recorder: ViteUserConfig = {
  ...config,
  test: { ...config.test, include: ['test/workflows/record-histories.ts'], retry: 0 },
};
export default recorder;
