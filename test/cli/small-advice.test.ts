import { expect, test } from 'vitest';
import { commandLine } from './run-cadre.ts';

test.each([
  [['ps', '--address', 'bogus:::1'], /^error: --address: temporal\.address: it has to be HOST:PORT$/m],
  [['ps', '-c', 'agents.max_depth=99'], /^error: -c agents\.max_depth: Too big/m],
  [['ps', '-c', 'bogus_key=1'], /^error: -c bogus_key: unknown key$/m],
  [['ps', '-c', 'modle=x'], /^error: -c modle: unknown key; did you mean model\?$/m],
])('%j is refused, and each thing is said once', async (args, message) => {
  const { code, stderr } = await commandLine().cadre(args);
  expect(stderr).toMatch(message);
  expect(code).toBe(2);
});

test('config lists what is not set, too', async () => {
  const { cadre } = commandLine();
  const { settings } = JSON.parse((await cadre(['config', '--json', '-c', 'model=a'])).stdout);
  for (const key of ['reasoning_effort', 'agents.max_tokens', 'temporal.address']) {
    expect(settings).toContainEqual({ key, value: null, origin: 'unset' });
  }
  const keys = settings.map((setting: { key: string }) => setting.key);
  expect(keys.filter((key: string) => key === 'model')).toHaveLength(1);
  expect(new Set(keys).size).toBe(keys.length);
});
