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

test('whoever may not ask is told none, and to register is refused with what an administrator can do', async () => {
  const connection = await connect();
  expect(await knownSearchAttributes(connection, 'no-such-namespace')).toEqual([]);
  const refused = await registerSearchAttributes(connection, 'no-such-namespace').catch((error) => error);
  expect(refused).toMatchObject({
    code: 'not_permitted',
    message: expect.stringContaining('no-such-namespace'),
  });
  expect(refused.hint).toMatch(
    /search-attribute create --namespace no-such-namespace --name CadreSession --type Keyword/,
  );
  expect(refused.hint).toMatch(
    /tcld namespace search-attributes add --namespace no-such-namespace --sa "Cadre\w+=Keyword".* --sa "CadreDepth=Int"/,
  );
});
