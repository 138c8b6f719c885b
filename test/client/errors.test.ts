import { Client, Connection, QueryNotRegisteredError, ServiceError } from '@temporalio/client';
import { expect, inject, test } from 'vitest';
import { translate, translateAnswer } from '../../client/errors.ts';
import { CadreClient } from '../../client/index.ts';
import { type AgentId, newRootId } from '../../protocol/index.ts';

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
  expect(translateAnswer(failure(4, 'Deadline exceeded'), ID)).toMatchObject({
    code: 'no_worker',
    hint: expect.stringMatching(/`cadre attach a\w{12}` works for a local session/),
  });
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

test.each([
  'Workflow did not register a handler for status. Registered queries: [__stack_trace]',
  'unknown queryType status. KnownQueryTypes=[__stack_trace]',
  "Query handler for 'status' expected but not found, and there is no dynamic handler. known queries: [x]",
  // Of a session that is sealed no more can be read than that it is a failure.
  'Encoded failure',
])('a workflow that does not know the question is no agent: %s', (message) => {
  expect(translate(new QueryNotRegisteredError(message, 3), ID)).toMatchObject({
    code: 'agent_not_found',
    message: `${ID} is a workflow, but not an agent of Cadre.`,
  });
});

test('what is wrong with a question is told as that', () => {
  expect(translate(new QueryNotRegisteredError('from: expected number', 3), ID)).toMatchObject({
    code: 'invalid_arguments',
    message: `agent ${ID} does not answer that: from: expected number`,
  });
});

test('an answer that Temporal finds too large is told as that, and not as one of a stranger', async () => {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  const { workflow } = new Client({ connection });
  const workflowId = `too-large-${Date.now()}`;
  const handle = await workflow.start('any', { workflowId, taskQueue: 'nobody' });
  // The server takes as much for a question as for an answer.
  const refused = await handle.query('status', 'x'.repeat(3_000_000)).catch((error: unknown) => error);
  expect(translate(refused, ID)).toMatchObject({
    code: 'internal',
    message: expect.stringMatching(/answer of agent \S+ is too large for Temporal: .*limit/),
    hint: expect.stringContaining('limit.blobSize.error'),
  });
  await handle.terminate();
  await connection.close();
});

test('a list is taken whole, also where a page of it is larger than gRPC takes by default', async () => {
  const cadre = await CadreClient.connect({ address: inject('temporalAddress') });
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  const { workflow } = new Client({ connection });
  const session = newRootId(Date.now(), Math.random);
  const handles = await Promise.all(
    ['worker-1', 'worker-2', 'worker-3'].map((name) =>
      workflow.start('agent', {
        workflowId: `${session}/${name}`,
        taskQueue: 'nobody',
        memo: { note: 'x'.repeat(1_800_000) },
      }),
    ),
  );
  await expect.poll(() => cadre.list({ session }), { timeout: 30_000 }).toHaveLength(3);
  await Promise.all(handles.map((handle) => handle.terminate()));
  await connection.close();
  await cadre.close();
}, 60_000);
