import { randomBytes } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { expect, inject, test } from 'vitest';
import { CadreClient } from '../../client/index.ts';

test('a client without keys sends nothing to a session that is sealed', async () => {
  const address = inject('temporalAddress');
  const encryption = { current: 'k1', keys: new Map([['k1', randomBytes(32)]]) };
  const [sealing, plain] = await Promise.all([
    CadreClient.connect({ address, encryption }),
    CadreClient.connect({ address }),
  ]);
  const settings = { model: 'm', provider: 'p', working_directory: '/tmp' };
  const { id } = await sealing.start({ task: 'the task', queue: 'nobody-works-for-it', settings });
  const agent = plain.get(id);
  const refusal = { code: 'key_missing', message: expect.stringContaining('k1') };
  await expect(agent.send('in plain text')).rejects.toMatchObject(refusal);
  await expect(agent.setNote('in plain text')).rejects.toMatchObject(refusal);
  await expect(agent.call('shell', { command: 'in plain text' })).rejects.toMatchObject(refusal);
  const connection = await Connection.connect({ address });
  await new Client({ connection }).workflow.getHandle(id).terminate();
  await Promise.all([connection.close(), sealing.close(), plain.close()]);
});
