import { realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Agent } from '../../client/index.ts';
import type { AgentEvent, AgentSettingsInput, Approval } from '../../protocol/index.ts';
import { folderWith } from '../support/folders.ts';
import { eventually } from '../workflows/eventually.ts';
import { outputs } from '../workflows/script.ts';
import { type Lines, type RealSession, withRealWorker } from './real-worker.ts';

const start = withRealWorker();

/** A folder to work in, with one in it and a link that leads to one beside it. */
function folders() {
  const parents = realpathSync(folderWith({ 'where.txt': 'parent', 'sub/where.txt': 'sub' }));
  const beside = realpathSync(folderWith({ 'where.txt': 'beside' }));
  symlinkSync(beside, join(parents, 'out'));
  return { parents, beside };
}

const look: Lines = [
  { calls: [{ name: 'read_file', arguments: { path: 'where.txt' } }] },
  ({ outputs: [read = ''] }) => ({ text: read }),
];
const spawnIn = (working_directory: string, args: object = {}): Lines[number] => ({
  calls: [{ name: 'spawn_agent', arguments: { message: 'look', working_directory, ...args } }],
});
const waitFor = (...ids: string[]): Lines[number] => ({
  calls: [{ name: 'wait', arguments: { ids, mode: 'all' } }],
});
const begin = (
  cast: Record<string, Lines>,
  settings: Partial<AgentSettingsInput> & { working_directory: string },
  non_interactive = false,
) => start({ cast, settings, session: { non_interactive } });

/** The next question; those that were asked before do not count. */
const asked = (root: Agent, before: readonly Approval[] = []): Promise<Approval> =>
  eventually(async () => {
    const known = before.map((approval) => approval.approval_id);
    const [approval] = (await root.approvals()).filter((each) => !known.includes(each.approval_id));
    if (approval === undefined) throw new Error('nobody is asked');
    return approval;
  });
const eventsOf = async ({ root }: RealSession): Promise<AgentEvent[]> => {
  const events: AgentEvent[] = [];
  for await (const event of root.events()) events.push(event);
  return events;
};
const typesOf = async (session: RealSession) => (await eventsOf(session)).map(({ type }) => type);
const spawnErrors = async (session: RealSession) =>
  outputs(await session.items(), 'spawn_agent').map(({ error }) => error);

test('a folder that another link leads to is asked about by its real path; allowed, the new agent works there', async () => {
  const { parents, beside } = folders();
  const session = await begin(
    {
      root: [spawnIn('out'), waitFor('default-1'), { text: 'ok' }],
      'default-1': [...look, ...look],
    },
    { working_directory: parents },
  );
  const question = await asked(session.root);
  expect(question).toMatchObject({
    kind: 'directory',
    tool: 'spawn_agent',
    asking_id: session.root.id,
    summary: `start an agent (default, sandbox workspace-write) in ${beside}`,
    reason: expect.stringContaining(parents),
  });
  // Nothing has begun while a person thinks about it.
  expect(await session.root.status()).toMatchObject({ waiting_for: 'approval', children: [] });
  expect(session.requests('default-1')).toEqual([]);
  // Where the link leads by now is not what was asked about.
  rmSync(join(parents, 'out'));
  symlinkSync('/', join(parents, 'out'));
  await session.decide(question.approval_id, 'approve');
  expect(await session.root.wait()).toMatchObject({ status: 'completed', message: 'ok' });
  const child = await session.agent('default-1').status();
  expect(child).toMatchObject({ status: 'completed', working_directory: beside });
  expect(child.message).toContain('beside');
  expect(session.requests('default-1')[0]?.instructions).toContain(`Working directory: ${beside}\n`);
  // Input that comes later is worked on there, too.
  await session.agent('default-1').send('again');
  expect((await session.agent('default-1').wait())?.message).toContain('beside');
  expect(await session.root.status()).toMatchObject({ working_directory: parents });
});

test('denied, nothing is started, and the model is told why; what is allowed for the session is not asked again', async () => {
  const { parents } = folders();
  const session = await begin(
    {
      root: [
        spawnIn('sub'),
        spawnIn('sub'),
        spawnIn(join(parents, 'sub')),
        waitFor('default-1', 'default-2'),
        { text: 'ok' },
      ],
      'default-1': look,
      'default-2': look,
    },
    { working_directory: parents },
  );
  const first = await asked(session.root);
  await session.decide(first.approval_id, 'deny', 'stay where you are');
  const second = await asked(session.root, [first]);
  expect((await session.root.tree()).agents).toHaveLength(1);
  await session.decide(second.approval_id, 'approve_for_session');
  expect(await session.root.wait()).toMatchObject({ status: 'completed', message: 'ok' });
  const [denied] = await spawnErrors(session);
  expect(denied).toMatchObject({
    code: 'approval_denied',
    message: expect.stringContaining('stay where you are'),
  });
  for (const name of ['default-1', 'default-2']) {
    expect(await session.agent(name).status()).toMatchObject({ working_directory: join(parents, 'sub') });
  }
  // The third is in the log, and was put to nobody.
  const decided = (await eventsOf(session)).filter((event) => event.type === 'approval.decided');
  expect(decided).toMatchObject([
    { decision: 'deny', reason: 'stay where you are' },
    { decision: 'approve_for_session', scope: 'session' },
    { scope: 'session', reason: 'allowed for the session before' },
  ]);
});

test.each([
  ['under the policy never', { approval_policy: 'never' } as const, false, 'approval_denied'],
  ['where nobody can be asked', {}, true, 'approval_unavailable'],
])('%s a folder that differs is refused at once', async (_name, settings, nonInteractive, code) => {
  const { parents } = folders();
  const others = ['sub', 'out', '..', join(parents, 'sub')];
  const session = await begin(
    {
      root: [{ calls: others.flatMap((each) => (spawnIn(each) as { calls: [] }).calls) }, { text: 'ok' }],
    },
    { working_directory: parents, ...settings },
    nonInteractive,
  );
  expect(await session.root.wait()).toMatchObject({ status: 'completed', message: 'ok' });
  expect(await spawnErrors(session)).toMatchObject(
    others.map(() => ({ code, message: expect.stringContaining('Another working_directory than yours') })),
  );
  expect((await session.root.tree()).agents).toHaveLength(1);
  expect(await typesOf(session)).not.toContain('approval.requested');
});

test('the folder of the parent is nothing to ask about, by whatever name, and under any policy', async () => {
  const { parents } = folders();
  symlinkSync(parents, join(parents, 'self'));
  const names = ['.', parents, 'self', 'sub/..'];
  const children = names.map((_name, index) => `default-${index + 1}`);
  const session = await begin(
    {
      root: [
        { calls: names.flatMap((each) => (spawnIn(each) as { calls: [] }).calls) },
        waitFor(...children),
        { text: 'ok' },
      ],
      ...Object.fromEntries(children.map((name) => [name, look])),
    },
    { working_directory: parents, approval_policy: 'never' },
  );
  expect(await session.root.wait()).toMatchObject({ status: 'completed', message: 'ok' });
  for (const name of children) {
    const child = await session.agent(name).status();
    expect(child).toMatchObject({ status: 'completed', working_directory: parents });
    expect(child.message).toContain('parent');
  }
  expect(await typesOf(session)).not.toContain('approval.requested');
});
