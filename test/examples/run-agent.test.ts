import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { CadreHome } from '../e2e/cadre-home.ts';

const path = fileURLToPath(new URL('../../examples/run-agent.ts', import.meta.url));
const home = new CadreHome();
afterAll(() => home.remove());

test('the example of the README runs an agent to its answer, in at most 15 lines', async () => {
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  expect(lines.length).toBeLessThanOrEqual(15);
  const { stdout } = await promisify(execFile)(process.execPath, [path], { env: home.env() });
  expect(stdout).toMatch(/^running/m);
  expect(stdout).toMatch(/^completed /m);
  expect(stdout).toContain('three explorers');
});
