import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { askSessions, notAskedText, within } from '../../cli/ask-sessions.ts';
import { CadreError, type SessionId } from '../../protocol/index.ts';

const ids = ['a0k3v9x2m4qd1', 'a0k3v9x2m4qd2', 'a0k3v9x2m4qd3', 'a0k3v9x2m4qd4'] as SessionId[];
const [first, second, third, fourth] = ids as [SessionId, SessionId, SessionId, SessionId];
const unserved = (queue: string) =>
  new CadreError('no_worker', `Nobody works for the queue ${queue}.`, {
    hint: `Start a worker: cadre worker --queue ${queue}`,
    retryable: true,
  });

test('sessions are asked side by side, and one that cannot answer keeps nobody', async () => {
  const begun: SessionId[] = [];
  const { answers, notAsked } = await askSessions(
    ids,
    async (id) => {
      begun.push(id);
      // None of them gets on before all were asked.
      while (begun.length < ids.length) await sleep(5);
      if (id === second) throw unserved('q');
      if (id === third) throw new CadreError('agent_not_found', 'It has closed.');
      return id;
    },
    ids.length,
  );
  expect(answers).toEqual([first, fourth]);
  expect(notAsked).toMatchObject([{ session_id: second, error: { code: 'no_worker', retryable: true } }]);
});

test('no more are asked at the same time than may be', async () => {
  let now = 0;
  let most = 0;
  await askSessions(
    ids,
    async () => {
      most = Math.max(most, ++now);
      await sleep(20);
      now--;
    },
    2,
  );
  expect(most).toBe(2);
});

test('what is no trouble of a session is the command’s error', async () => {
  const broken = askSessions(ids, () => Promise.reject(new TypeError('x')), 4);
  await expect(broken).rejects.toThrow(TypeError);
});

test('an answer that does not come in its time is a session that could not be asked', async () => {
  await expect(within(20, first, () => new Promise(() => {}))).rejects.toMatchObject({
    code: 'no_worker',
    message: `Session ${first} has not answered in 0.02 s.`,
  });
  expect(await within(60_000, first, async () => 'here')).toBe('here');
});

test('a try that falls between two workers is made again, and no other', async () => {
  let tries = 0;
  const answer = async () => {
    if (++tries < 3) throw unserved('q');
    return 'here';
  };
  expect(await within(60_000, first, answer)).toBe('here');
  const sealed = () => Promise.reject(new CadreError('key_missing', 'sealed'));
  await expect(within(60_000, first, sealed)).rejects.toMatchObject({ code: 'key_missing' });
});

test('one line names all that could not be asked, with what helps', async () => {
  const { notAsked } = await askSessions(
    [first, second, third],
    (id) => Promise.reject(id === third ? new CadreError('key_missing', 'sealed') : unserved('q')),
    1,
  );
  expect(notAskedText(notAsked, 4)).toBe(
    `3 of 4 open sessions could not be asked: ${first}, ${second} (Start a worker: cadre worker --queue q); ${third} (Add the key to what [encryption] of the configuration names: docs/encryption.md)`,
  );
  expect(notAskedText(notAsked.slice(0, 1), 1)).toContain('1 of 1 open session could not');
});
