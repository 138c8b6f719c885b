import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { ensureServer, serverStatus } from '../../server/index.ts';
import { emptyHome, ensureElsewhere, eventually, killServer, serverPids } from './homes.ts';

async function expectWorking(home: string): Promise<void> {
  const { address } = await ensureServer({ home });
  const connection = await Connection.connect({ address });
  try {
    const client = new Client({ connection });
    await client.workflow.start('agent', { workflowId: 'a', taskQueue: 'nobody', args: [] });
    // Listing needs other tables than starting does.
    await client.workflow.count();
    await client.workflow.getHandle('a').terminate();
  } finally {
    await connection.close();
  }
  expect(existsSync(join(home, 'temporal.db.incomplete'))).toBe(false);
}

test('a server whose starter was killed before it could record it is taken up, not doubled', async () => {
  const home = emptyHome();
  const { child } = ensureElsewhere(home);
  await eventually(() => serverPids(home).length === 1);
  child.kill('SIGKILL');
  const [pid] = serverPids(home);
  const record = await ensureServer({ home });
  expect(record.pid).toBe(pid);
  expect(serverPids(home)).toEqual([pid]);
  expect(await serverStatus(home)).toEqual(record);
});

// It writes its tables some 50 to 300 ms after its start.
test.each([0, 60, 120, 180, 240])(
  'a first start that was killed after %d ms leaves nothing that the next one trips over',
  async (afterMs) => {
    const home = emptyHome();
    const { child } = ensureElsewhere(home);
    await eventually(() => serverPids(home).length === 1);
    await sleep(afterMs);
    child.kill('SIGKILL');
    for (const pid of serverPids(home)) await killServer(home, { pid });
    await expectWorking(home);
  },
);

test('a database without tables is begun anew when no server on it was ever ready', async () => {
  const home = emptyHome();
  for (const name of ['temporal.db', 'temporal.db.incomplete']) closeSync(openSync(join(home, name), 'w'));
  writeFileSync(join(home, 'temporal.db-wal'), 'half of something');
  await expectWorking(home);
});
