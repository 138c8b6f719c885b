import { Client, Connection, ServiceError } from '@temporalio/client';
import { expect, inject, test } from 'vitest';
import { translate, translateAnswer } from '../../client/errors.ts';
import type { AgentId } from '../../protocol/index.ts';

const ID = 'a0k3v9x2m4qd7' as AgentId;

/** What Temporal's client throws where the server answers with a failure. */
function failure(code: number, details: string): ServiceError {
  const cause = Object.assign(new Error(`${code}: ${details}`), { code, details, metadata: {} });
  return new ServiceError('Failed to list workflows', { cause });
}

test.each([
  [1, 'Call cancelled'],
  [4, 'Deadline exceeded'],
  [12, 'Received HTTP status code 404'],
  [14, 'No connection established'],
])('a failure with code %i means that there is no server, and tells why', (code, details) => {
  const error = translate(failure(code, details));
  expect(error).toMatchObject({ code: 'temporal_unreachable', message: expect.stringContaining(details) });
  expect(error.hint).toContain('--address');
});

test('a question that is not answered in time misses a worker, not the server', () => {
  expect(translateAnswer(failure(4, 'Deadline exceeded'), ID)).toMatchObject({ code: 'no_worker' });
  expect(translateAnswer(failure(14, 'No connection established'), ID)).toMatchObject({
    code: 'temporal_unreachable',
  });
});

test('whatever else the server says is not lost', () => {
  expect(translate(failure(7, 'Request unauthorized.'))).toMatchObject({
    code: 'internal',
    message: 'Failed to list workflows: Request unauthorized.',
  });
});

test('what Temporal finds too large is the caller’s mistake', async () => {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  const start = new Client({ connection }).workflow.start('any', {
    workflowId: ID,
    taskQueue: 'nobody',
    args: ['x'.repeat(3_000_000)],
  });
  const error = translate(await start.catch((error: unknown) => error));
  expect(error).toMatchObject({ code: 'invalid_arguments', message: expect.stringContaining('too large') });
  await connection.close();
});
