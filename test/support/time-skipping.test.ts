import { expect, test } from 'vitest';
import { openTimeSkipping } from './time-skipping.ts';

test('an hour passes at once on the server that skips time', async () => {
  const environment = await openTimeSkipping();
  try {
    const before = await environment.currentTimeMs();
    await environment.sleep('1 hour');
    expect((await environment.currentTimeMs()) - before).toBeGreaterThanOrEqual(3_600_000);
  } finally {
    await environment.teardown();
  }
});
