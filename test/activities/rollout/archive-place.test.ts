import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { namedPlace, requireFree } from '../../../activities/rollout/archive-place.ts';
import type { AgentId, ArchiveRequest } from '../../../protocol/index.ts';

const AGENT = 'a0k3v9x2m4qd7/default-1' as AgentId;
type Mode = ArchiveRequest['writer']['sandbox_mode'];

let home: string;
let work: string;
let outside: string;
beforeEach(() => {
  // Not below /tmp, which every command may write to, and where the home of a trial may be.
  home = realpathSync(mkdtempSync('/var/tmp/cadre-archive-'));
  work = join(home, 'work');
  outside = join(home, 'outside');
  for (const folder of [work, outside, join(work, '.git'), join(work, 'state')]) mkdirSync(folder);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const place = (asked: string, mode: Mode = 'workspace-write', writable_roots?: string[]) => {
  const sandbox = writable_roots === undefined ? {} : { sandbox: { writable_roots, network: false } };
  return namedPlace(
    asked,
    AGENT,
    { sandbox_mode: mode, working_directory: work, ...sandbox },
    { stateDir: join(work, 'state') },
  );
};

test('a file is named relative to the working directory, and a folder takes one named for the agent', async () => {
  expect((await place('kept.jsonl')).path).toBe(join(work, 'kept.jsonl'));
  expect((await place(work)).path).toBe(join(work, 'default-1.jsonl'));
  expect((await place('../outside/x', 'danger-full-access')).path).toBe(join(outside, 'x'));
});

test.each([
  ['outside of what may be written', '../outside/x', 'workspace-write'],
  ['in a folder that stays as it is', '.git/x', 'workspace-write'],
  ['in CADRE_HOME', 'state/x', 'workspace-write'],
  ['anywhere, for one that only reads', 'x', 'read-only'],
  ['in /tmp, for one that only reads', '/tmp/x', 'read-only'],
] as const)('refuses a place %s', async (_what, asked, mode) => {
  await expect(place(asked, mode)).rejects.toMatchObject({ code: 'not_permitted' });
});

test('a further writable root takes an archive as it takes a patch, but for what stays as it is, and not where nothing may be written', async () => {
  mkdirSync(join(outside, '.git'));
  expect((await place('../outside/x', 'workspace-write', [outside])).path).toBe(join(outside, 'x'));
  const refused = { code: 'not_permitted' };
  await expect(place('../outside/.git/x', 'workspace-write', [outside])).rejects.toMatchObject(refused);
  await expect(place('../outside/x', 'read-only', [outside])).rejects.toMatchObject(refused);
});

test('follows links before it decides', async () => {
  symlinkSync(outside, join(work, 'link'));
  await expect(place('link/x')).rejects.toMatchObject({ code: 'not_permitted' });
  await expect(place('link')).rejects.toMatchObject({ code: 'not_permitted' });
});

test.each([['no/such/x'], ['file/x'], ['x\0y']])('refuses what is no place: %j', async (asked) => {
  writeFileSync(join(work, 'file'), '');
  await expect(place(asked)).rejects.toMatchObject({ code: 'invalid_arguments' });
});

// Root writes anywhere.
test.skipIf(process.getuid?.() === 0)('refuses a folder that this process cannot write to', async () => {
  chmodSync(outside, 0o500);
  const refused = place('../outside/x', 'danger-full-access');
  await expect(refused).rejects.toMatchObject({ code: 'invalid_arguments' });
});

test('whatever is there already is in the way, a link that leads nowhere too', async () => {
  symlinkSync(join(work, 'nowhere'), join(work, 'dangling'));
  writeFileSync(join(work, 'file'), '');
  for (const name of ['dangling', 'file']) {
    await expect(requireFree(join(work, name))).rejects.toMatchObject({ code: 'rollout_exists' });
  }
  await requireFree(join(work, 'free'));
  const tooLong = requireFree(join(work, 'n'.repeat(300)));
  await expect(tooLong).rejects.toMatchObject({
    code: 'invalid_arguments',
    message: expect.stringContaining('ENAMETOOLONG'),
  });
});
