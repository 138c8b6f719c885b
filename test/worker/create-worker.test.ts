import { expect, test } from 'vitest';
import { createWorker, type WorkerOptions } from '../../worker/index.ts';

test.each<[string, Partial<WorkerOptions>, RegExp]>([
  [
    'a name that could be taken for another',
    { mcpServers: { a__b: { command: 'x' } } },
    /^mcpServers: a__b: /,
  ],
  [
    'two ways to reach it',
    { mcpServers: { a: { command: 'x', url: 'http://x' } } },
    /^mcpServers: a: a server needs either/,
  ],
  [
    'a key in the open',
    { mcpServers: { a: { command: 'x', env: { A_TOKEN: 'secret' } } } },
    /^mcpServers: a.env.A_TOKEN: /,
  ],
  ['what is no tool', { tools: [{}] as never }, /number 1: it did not go through defineTool/],
])('with %s no worker is created, and nothing is connected to', async (_, wrong, message) => {
  // Nobody answers there: that would be the error of whoever looks first.
  const options = { address: '127.0.0.1:1', queue: 'q', stateDir: '/nowhere', ...wrong };
  await expect(createWorker(options)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(message),
  });
});
