import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { expect, test } from 'vitest';
import { terminateAgents } from '../../activities/terminate-agents.ts';
import type { AgentId } from '../../protocol/index.ts';

const ROOT = 'a0k3v9x2m4qd7';
const id = (name: string) => `${ROOT}/${name}` as AgentId;
const denied = Object.assign(new Error('7 PERMISSION_DENIED: not yours'), {
  code: 7,
  details: 'not yours',
  metadata: {},
});
const lost = Object.assign(new Error('14 UNAVAILABLE: gone'), { code: 14, details: 'gone', metadata: {} });

/** A server on which these agents run, and which fails to end some of them. */
function serverWith(running: string[], failing: Record<string, Error>) {
  const terminated: string[] = [];
  const client = {
    workflow: {
      getHandle: (workflowId: string) => ({
        terminate: async () => {
          const problem = failing[workflowId];
          if (problem !== undefined) throw problem;
          terminated.push(workflowId);
        },
      }),
      list: async function* () {
        for (const workflowId of running) yield { workflowId };
      },
    },
  };
  return { terminate: terminateAgents(client as unknown as Client), terminated };
}

test('one that cannot be ended leaves none of the others running, and is named', async () => {
  const { terminate, terminated } = serverWith([id('a/b'), id('a/c')], { [id('a/b')]: denied });
  await expect(terminate({ agent_id: id('a'), reason: 'over' })).rejects.toMatchObject({
    type: 'internal',
    nonRetryable: true,
    message: expect.stringContaining(id('a/b')),
    details: [{ terminated: [id('a/c'), id('a')], not_terminated: [{ agent_id: id('a/b') }] }],
  });
  // Parents go first; the answer names them as people read it, leaf first.
  expect(terminated).toEqual([id('a'), id('a/c')]);
});

test('what may pass is tried again', async () => {
  const { terminate } = serverWith([], { [id('a')]: lost });
  await expect(terminate({ agent_id: id('a'), reason: 'over' })).rejects.toMatchObject({
    nonRetryable: false,
  });
});

test('one that is gone already counts as ended', async () => {
  const { terminate } = serverWith([id('a/b')], {
    [id('a')]: new WorkflowNotFoundError('gone', id('a'), undefined),
  });
  expect(await terminate({ agent_id: id('a'), reason: 'over' })).toEqual({ terminated: [id('a/b')] });
});
