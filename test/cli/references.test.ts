import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentAmong, LAST, sessionNamed } from '../../cli/references.ts';
import { SessionFiles } from '../../cli/serving/session-files.ts';
import type { AgentId } from '../../protocol/index.ts';
import { folderWith } from '../support/folders.ts';

const OLD = 'a0k3v9x2m4qd7' as AgentId;
const NEW = 'a0k3v9x2m4qd8' as AgentId;
const OTHER = 'a0k3v9x2m4qd9' as AgentId;

async function filesWith(folder: string): Promise<SessionFiles> {
  const files = new SessionFiles(join(folder, 'state'));
  for (const name of ['here', 'there']) mkdirSync(join(folder, name));
  const record = (session_id: AgentId, cwd: string, hour: number) =>
    files.write({
      session_id,
      queue: 'q',
      cwd: join(folder, cwd),
      started_at: `2026-01-01T0${hour}:00:00.000Z`,
    });
  await record(NEW, 'here', 2);
  await record(OLD, 'here', 1);
  await record(OTHER, 'there', 3);
  return files;
}

test('--last is the newest session of this folder, under whatever name, and not of another one', async () => {
  const folder = folderWith();
  const files = await filesWith(folder);
  expect(await sessionNamed(LAST, files, join(folder, 'here'))).toBe(NEW);
  symlinkSync(join(folder, 'here'), join(folder, 'link'));
  expect(await sessionNamed(LAST, files, join(folder, 'link'))).toBe(NEW);
  expect(await sessionNamed('worker-1', files, join(folder, 'there'))).toBe(OTHER);
});

test('a whole id needs no folder; where no session was started, nothing else is found', async () => {
  const folder = folderWith();
  const files = await filesWith(folder);
  expect(await sessionNamed(`${OLD}/worker-1`, files, '/nowhere')).toBe(OLD);
  await expect(sessionNamed(LAST, files, folder)).rejects.toMatchObject({
    code: 'agent_not_found',
    message: expect.stringContaining(folder),
  });
  await expect(sessionNamed('worker-1', files, folder)).rejects.toMatchObject({ code: 'agent_not_found' });
});

const known = ['', '/worker-1', '/explorer-1', '/worker-1/explorer-1', '/worker-1/poet'].map(
  (part) => `${OLD}${part}` as AgentId,
);

test.each([
  ['worker-1', '/worker-1'],
  ['explorer-1', '/explorer-1'],
  ['worker-1/explorer-1', '/worker-1/explorer-1'],
  ['poet', '/worker-1/poet'],
  [OLD, ''],
])('%s is %s inside its session', (reference, part) => {
  expect(agentAmong(reference, OLD, known)).toBe(`${OLD}${part}`);
});

test('a name that two agents bear is ambiguous, and the error lists both', () => {
  const twice = [OLD, `${OLD}/a-1/poet`, `${OLD}/b-1/poet`] as AgentId[];
  expect(() => agentAmong('poet', OLD, twice)).toThrow(
    expect.objectContaining({
      code: 'agent_ambiguous',
      message: expect.stringMatching(/a-1\/poet.*b-1\/poet/),
    }),
  );
});

test('an unknown name is not found, and the error lists the names that there are', () => {
  expect(() => agentAmong('ghost', OLD, known)).toThrow(
    expect.objectContaining({ code: 'agent_not_found', hint: expect.stringContaining('poet') }),
  );
});
