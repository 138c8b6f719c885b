import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { expect, onTestFinished, test } from 'vitest';
import { knownSearchAttributes } from '../../client/search-attributes.ts';
import { SEARCH_ATTRIBUTES } from '../../protocol/index.ts';
import { DATABASE } from '../../server/database.ts';
import { ensureServer, type ServerRecord, serverStatus, stopServer } from '../../server/index.ts';
import { emptyHome, ensureElsewhere, killServer, serverPids } from './homes.ts';

async function connect({ address }: ServerRecord): Promise<Client & { connection: Connection }> {
  const connection = await Connection.connect({ address });
  onTestFinished(() => connection.close());
  return Object.assign(new Client({ connection }), { connection });
}

async function startWorkflow(client: Client, workflowId: string): Promise<void> {
  await client.workflow.start('agent', { workflowId, taskQueue: 'nobody', args: [] });
}

async function takePort(port: number): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
}

const portOf = (record: ServerRecord) => Number(record.address.split(':')[1]);

test('a fresh server has the search attributes and a retention of 30 days, and shows its Web UI', async () => {
  const home = emptyHome();
  const record = await ensureServer({ home });
  const { connection } = await connect(record);
  const known = await knownSearchAttributes(connection, 'default');
  expect(known.sort()).toEqual(Object.keys(SEARCH_ATTRIBUTES).sort());
  const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
  expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(30 * 24 * 3600);
  expect((await fetch(record.ui)).status).toBe(200);
  expect(JSON.parse(readFileSync(join(home, 'server.json'), 'utf8'))).toEqual(record);
  expect(record.version).toMatch(/^\d+\.\d+\.\d+$/);
});

test('what the server keeps is for this user alone', async () => {
  const home = join(emptyHome(), 'new');
  onTestFinished(async () => void (await stopServer(home)));
  await ensureServer({ home });
  expect(statSync(home).mode & 0o077).toBe(0);
  // Also where the folder was there before, and others may look into it.
  expect(statSync(join(home, DATABASE)).mode & 0o077).toBe(0);
});

test('a CADRE_HOME may have any name', async () => {
  const parent = emptyHome();
  const home = join(parent, 'a b?c#d%41"ü');
  const before = await ensureServer({ home });
  await startWorkflow(await connect(before), 'kept');
  await killServer(home, before);
  const after = await ensureServer({ home });
  await (await connect(after)).workflow.getHandle('kept').describe();
  rmSync(join(home, 'server.json'));
  expect(await ensureServer({ home })).toEqual(after);
  expect(readdirSync(parent)).toEqual([basename(home)]);
});

test('commands of one CADRE_HOME share the server, commands of another one have their own', async () => {
  const [home, other] = [emptyHome(), emptyHome()];
  const first = await ensureServer({ home });
  expect(await ensureServer({ home })).toEqual(first);
  expect(await serverStatus(home)).toEqual(first);
  expect((await ensureServer({ home: other })).pid).not.toBe(first.pid);
});

test('many processes that need the server at once start exactly one', async () => {
  const home = emptyHome();
  const records = await Promise.all(Array.from({ length: 5 }, () => ensureElsewhere(home).record));
  expect(new Set(records.map(({ pid }) => pid)).size).toBe(1);
  expect(serverPids(home)).toEqual([records[0]?.pid]);
});

test('the server outlives the process that started it', async () => {
  const home = emptyHome();
  const record = await ensureElsewhere(home).record;
  expect(await serverStatus(home)).toEqual(record);
});

test('a killed server comes back on the same ports with all that it knew', async () => {
  const home = emptyHome();
  const before = await ensureServer({ home });
  await startWorkflow(await connect(before), 'kept');
  await killServer(home, before);
  expect(await serverStatus(home)).toBeUndefined();
  const after = await ensureServer({ home });
  expect(after.pid).not.toBe(before.pid);
  expect(after).toMatchObject({ address: before.address, ui: before.ui });
  const { status } = await (await connect(after)).workflow.getHandle('kept').describe();
  expect(status.name).toBe('RUNNING');
});

test('a port that somebody else took meanwhile is left alone', async () => {
  const home = emptyHome();
  const before = await ensureServer({ home });
  expect(await stopServer(home)).toBe(true);
  await takePort(portOf(before));
  const after = await ensureServer({ home });
  expect(portOf(after)).not.toBe(portOf(before));
  expect(after.ui).toBe(before.ui);
  expect(await serverStatus(home)).toEqual(after);
});

test('a stopped server is gone, its state and its ports are not', async () => {
  const [home, other] = [emptyHome(), emptyHome()];
  const before = await ensureServer({ home });
  const untouched = await ensureServer({ home: other });
  await startWorkflow(await connect(before), 'kept');
  expect(await stopServer(home)).toBe(true);
  expect(serverPids(home)).toEqual([]);
  expect(await serverStatus(home)).toBeUndefined();
  expect(await stopServer(home)).toBe(false);
  expect(await serverStatus(other)).toEqual(untouched);
  const after = await ensureServer({ home });
  expect(after.address).toBe(before.address);
  await (await connect(after)).workflow.getHandle('kept').describe();
});

test('search attributes that the database lacks, as those of a newer version, are added to it', async () => {
  const home = emptyHome();
  const { connection } = await connect(await ensureServer({ home }));
  await connection.operatorService.removeSearchAttributes({
    namespace: 'default',
    searchAttributes: ['CadreRole'],
  });
  await stopServer(home);
  const client = await connect(await ensureServer({ home }));
  expect(await knownSearchAttributes(client.connection, 'default')).toContain('CadreRole');
  const typedSearchAttributes = [
    { key: defineSearchAttributeKey('CadreRole', SearchAttributeType.KEYWORD), value: 'worker' },
  ];
  await client.workflow.start('agent', { workflowId: 'a', taskQueue: 'nobody', typedSearchAttributes });
});
