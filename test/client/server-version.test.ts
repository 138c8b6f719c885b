import { expect, inject, onTestFinished, test } from 'vitest';
import { CadreClient } from '../../client/client.ts';
import { OLDEST_SUPPORTED_SERVER } from '../../protocol/index.ts';
import { createWorker } from '../../worker/create-worker.ts';
import { type AncientServer, serverOfVersion } from '../support/grpc-server.ts';

async function server(version: string | undefined): Promise<AncientServer> {
  const fake = await serverOfVersion(version);
  onTestFinished(() => fake.close());
  return fake;
}

const tooOld = (version: string) => ({
  code: 'temporal_unreachable',
  message: expect.stringMatching(`${version}.*${OLDEST_SUPPORTED_SERVER.replaceAll('.', '\\.')}`),
  hint: expect.stringContaining('Upgrade'),
  retryable: false,
});

test.each(['1.20.4', '1.28.9', 'v1.28.0-rc.1', '0.9.0'])(
  'a server %s is too old: the client says so and asks it nothing else',
  async (version) => {
    const { address, calls } = await server(version);
    await expect(CadreClient.connect({ address })).rejects.toMatchObject(tooOld(version));
    expect(calls).toEqual(['GetSystemInfo']);
  },
);

test('a worker does not start on it', async () => {
  const { address } = await server('1.20.4');
  const starting = createWorker({ address, queue: 'old', stateDir: '/nonexistent' });
  await expect(starting).rejects.toMatchObject(tooOld('1.20.4'));
});

test('what does not even know the question is no server, and is not asked again', async () => {
  const { address } = await server(undefined);
  const refused = {
    code: 'temporal_unreachable',
    message: expect.stringMatching(/which Temporal server it is: it is none, or one from before/),
    retryable: false,
  };
  await expect(CadreClient.connect({ address })).rejects.toMatchObject(refused);
  const starting = createWorker({ address, queue: 'none', stateDir: '/nonexistent' });
  await expect(starting).rejects.toMatchObject(refused);
});

test.each([OLDEST_SUPPORTED_SERVER, '1.100.0', '2.0.0', '', 'cloud', '1.31'])(
  'version %j is not refused',
  async (version) => {
    const { address } = await server(version);
    const client = await CadreClient.connect({ address });
    await client.close();
  },
);

test('the server of these tests is new enough', async () => {
  const client = await CadreClient.connect({ address: inject('temporalAddress') });
  await client.close();
});
