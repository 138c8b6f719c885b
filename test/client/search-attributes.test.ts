import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { expect, inject, onTestFinished, test } from 'vitest';
import { knownSearchAttributes, registerSearchAttributes } from '../../client/search-attributes.ts';
import { SEARCH_ATTRIBUTES } from '../../protocol/index.ts';

const ALL = Object.keys(SEARCH_ATTRIBUTES);
const DAY_SECONDS = 24 * 3600;

async function connect(): Promise<Connection> {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  onTestFinished(() => connection.close());
  return connection;
}

async function namespaceOf(connection: Connection): Promise<string> {
  const namespace = `test-${randomUUID()}`;
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: DAY_SECONDS as never },
  });
  // The server looks for new namespaces every now and then.
  await expect
    .poll(() => connection.operatorService.listSearchAttributes({ namespace }).then(Boolean, () => false), {
      timeout: 40_000,
    })
    .toBe(true);
  return namespace;
}

test('a namespace that knows none gets what it lacks, once', async () => {
  const connection = await connect();
  const namespace = await namespaceOf(connection);
  expect(await knownSearchAttributes(connection, namespace)).toEqual([]);
  expect((await registerSearchAttributes(connection, namespace)).sort()).toEqual([...ALL].sort());
  await expect
    .poll(async () => (await knownSearchAttributes(connection, namespace)).sort(), { timeout: 40_000 })
    .toEqual([...ALL].sort());
  expect(await registerSearchAttributes(connection, namespace)).toEqual([]);
});

test('one of the right name but another type counts as unknown', async () => {
  const connection = await connect();
  const namespace = await namespaceOf(connection);
  const { operatorService } = connection;
  await operatorService.addSearchAttributes({ namespace, searchAttributes: { CadreDepth: 2, CadreRole: 2 } });
  await expect
    .poll(() => knownSearchAttributes(connection, namespace), { timeout: 40_000 })
    .toEqual(['CadreRole']);
});

test('a namespace that does not exist is told as that, whatever is asked of it', async () => {
  const connection = await connect();
  const missing = {
    code: 'config_invalid',
    message: expect.stringContaining('no-such-namespace'),
    hint: expect.stringContaining('temporal operator namespace create'),
  };
  await expect(knownSearchAttributes(connection, 'no-such-namespace')).rejects.toMatchObject(missing);
  await expect(registerSearchAttributes(connection, 'no-such-namespace')).rejects.toMatchObject(missing);
});

test('whoever may not ask is told none, and to register is refused with what an administrator can do', async () => {
  const connection = refusing(7);
  expect(await knownSearchAttributes(connection, 'guarded')).toEqual([]);
  const refused = await registerSearchAttributes(connection, 'guarded').catch((error) => error);
  expect(refused).toMatchObject({ code: 'not_permitted', message: expect.stringContaining('guarded') });
  expect(refused.hint).toMatch(
    /search-attribute create --namespace guarded --name CadreSession --type Keyword/,
  );
  expect(refused.hint).toMatch(
    /tcld namespace search-attributes add --namespace guarded --sa "Cadre\w+=Keyword".* --sa "CadreDepth=Int"/,
  );
});

test('a server without that service is one that may not be asked', async () => {
  const connection = refusing(12);
  expect(await knownSearchAttributes(connection, 'cloud')).toEqual([]);
  await expect(registerSearchAttributes(connection, 'cloud')).rejects.toMatchObject({
    code: 'not_permitted',
  });
});

test('a server that is gone for a moment is not taken for one without attributes', async () => {
  const connection = refusing(14);
  const gone = { code: 'temporal_unreachable', retryable: true };
  await expect(knownSearchAttributes(connection, 'default')).rejects.toMatchObject(gone);
  await expect(registerSearchAttributes(connection, 'default')).rejects.toMatchObject(gone);
});

/** A connection whose operator service fails every call with a gRPC status. */
function refusing(code: number): Connection {
  const refuse = async () => {
    throw Object.assign(new Error(`${code} refused`), { code, details: 'refused', metadata: {} });
  };
  const operatorService = { listSearchAttributes: refuse, addSearchAttributes: refuse };
  return { operatorService } as unknown as Connection;
}
