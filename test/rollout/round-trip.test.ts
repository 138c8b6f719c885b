import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ContentPart, KeyRing, RolloutBody, RolloutItem } from '../../protocol/index.ts';
import { handleName, handlePath } from '../../rollout/handle-files.ts';
import { importRollout } from '../../rollout/import-rollout.ts';
import { Rollout } from '../../rollout/rollout.ts';
import { ownRollouts, Rollouts } from '../../rollout/rollouts.ts';
import { writeLines } from '../../rollout/write-file.ts';
import { rolloutText } from '../../rollout/write-rollout.ts';
import { folderWith } from '../support/folders.ts';
import { agentLines, HEADER, SAMPLE, SESSION, session } from './sample-session.ts';

const RING: KeyRing = { current: 'k', keys: new Map([['k', randomBytes(32)]]) };

async function exported(body: AsyncIterable<RolloutBody> | RolloutBody[], keys?: KeyRing): Promise<string> {
  const file = join(folderWith(), 'out.jsonl');
  await writeLines(file, rolloutText(HEADER, body, keys));
  return file;
}

async function all<T>(lines: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const line of lines) found.push(line);
  return found;
}

const AS_IT_IS = { keys: undefined, replace: false };

test('export, import and export are equal, byte for byte, sealed on the way or not', async () => {
  await fc.assert(
    fc.asyncProperty(session, fc.boolean(), fc.boolean(), async (body, sealedFile, sealedHome) => {
      const file = await exported(body, sealedFile ? RING : undefined);
      const keys = sealedHome ? RING : undefined;
      const rollouts = new Rollouts({ stateDir: folderWith(), keys });
      // Whoever keeps what is sealed in the clear has the key all the same.
      const { already } = await importRollout(file, rollouts, { keys: RING, replace: false });
      expect(already).toBe(false);
      const kept = await rollouts.find(SESSION);
      if (kept === undefined) throw new Error('it is not there');
      const again = await exported(kept.body());
      expect(readFileSync(again, 'utf8')).toBe(readFileSync(await exported(body), 'utf8'));
    }),
    { numRuns: 25 },
  );
});

test('items are found from anywhere in a conversation, up to so many bytes', async () => {
  await fc.assert(
    fc.asyncProperty(
      session,
      fc.nat(260),
      fc.nat(260),
      fc.integer({ min: 1, max: 5_000 }),
      async (body, a, b, bytes) => {
        const rollout = await Rollout.open(await exported(body, RING), RING);
        for (const id of rollout.agents) {
          const items = body.flatMap((line) =>
            line.type === 'item' && line.agent_id === id ? [(line as RolloutItem).item] : [],
          );
          const [from, to] = [Math.min(a, b), Math.max(a, b)];
          const found = await rollout.items(id, from, to, bytes);
          expect(found).toEqual(items.slice(from, from + found.length));
          if (items.slice(from, to).length > 0) expect(found.length).toBeGreaterThan(0);
          expect(found.length).toBeLessThanOrEqual(to - from);
          expect(await all(rollout.linesOf(id))).toEqual(linesOf(body, id));
        }
      },
    ),
    { numRuns: 25 },
  );
});

function linesOf(body: RolloutBody[], id: string): RolloutBody[] {
  return body.filter(
    (line) =>
      (line.type === 'agent' && line.identity.agent_id === id) ||
      (line.type === 'item' && line.agent_id === id) ||
      (line.type === 'event' && line.event.agent_id === id),
  );
}

test('one that is there is left alone, another one only goes in its place when that is asked for', async () => {
  const rollouts = new Rollouts({ stateDir: folderWith() });
  const file = await exported(SAMPLE);
  expect(await importRollout(file, rollouts, AS_IT_IS)).toMatchObject({ already: false });
  expect(await importRollout(file, rollouts, AS_IT_IS)).toMatchObject({ already: true });
  const other = await exported(SAMPLE.slice(0, -2));
  await expect(importRollout(other, rollouts, AS_IT_IS)).rejects.toMatchObject({
    code: 'rollout_exists',
  });
  expect((await rollouts.find(SESSION))?.agents).toHaveLength(2);
  await importRollout(other, rollouts, { ...AS_IT_IS, replace: true });
  expect((await rollouts.find(SESSION))?.agents).toHaveLength(1);
});

test('a rollout goes where the workers of its queue look for it, and stands in no other folder in its way', async () => {
  const [stateDir, directory] = [folderWith(), join(folderWith(), 'shared')];
  const rollouts = new Rollouts({ stateDir, directory });
  const local = await exported(SAMPLE);
  const own = join(ownRollouts(stateDir), `${SESSION}.jsonl`);
  const shared = join(directory, `${SESSION}.jsonl`);
  expect(await importRollout(local, rollouts, AS_IT_IS)).toMatchObject({ path: own, queue: HEADER.queue });
  // The same one, but those who are to go on with it would not find it where it is.
  const there = await importRollout(local, rollouts, { ...AS_IT_IS, queue: 'team' });
  expect(there).toMatchObject({ path: shared, queue: 'team', already: false });
  const other = await exported(SAMPLE.slice(0, -2));
  await expect(importRollout(other, rollouts, AS_IT_IS)).rejects.toMatchObject({ code: 'rollout_exists' });
  await importRollout(other, rollouts, { ...AS_IT_IS, replace: true });
  expect(rollouts.pathsOf(SESSION)).toEqual([own]);
  expect((await rollouts.find(SESSION))?.agents).toHaveLength(1);
});

test('a broken one that is here stands until it is told to give way', async () => {
  const rollouts = new Rollouts({ stateDir: folderWith() });
  const file = await exported(SAMPLE);
  const { path } = await importRollout(file, rollouts, AS_IT_IS);
  writeFileSync(path, readFileSync(path).subarray(0, 300));
  await expect(importRollout(file, rollouts, AS_IT_IS)).rejects.toMatchObject({
    code: 'rollout_invalid',
    message: expect.stringContaining(`${path} cannot be used: line `),
    hint: expect.stringContaining('--replace'),
  });
  expect(readFileSync(path)).toHaveLength(300);
  await importRollout(file, rollouts, { ...AS_IT_IS, replace: true });
  expect((await rollouts.find(SESSION))?.agents).toHaveLength(2);
});

test('what is broken is refused before anything is written', async () => {
  const stateDir = folderWith();
  const output = outputOf('long');
  const file = await exported([...SAMPLE, output]);
  const [first = '', ...rest] = readFileSync(file, 'utf8').split('\n');
  await writeLines(
    file,
    (async function* () {
      yield* [first, ...rest.slice(0, -2)];
    })(),
  );
  const rollouts = new Rollouts({ stateDir });
  await expect(importRollout(file, rollouts, AS_IT_IS)).rejects.toMatchObject({
    code: 'rollout_invalid',
  });
  expect(rollouts.pathOf(SESSION)).toBeUndefined();
  expect(() => readFileSync(handlePath(stateDir, output.handle) ?? '')).toThrow('ENOENT');
});

test('outputs come along, and are found by their handles', async () => {
  const stateDir = folderWith();
  const output = outputOf('a long output');
  const left: RolloutBody = { type: 'output', handle: outputOf('x').handle, left_out: 'it is not at hand' };
  const rollouts = new Rollouts({ stateDir });
  await importRollout(await exported([...SAMPLE, output, left]), rollouts, AS_IT_IS);
  expect(readFileSync(handlePath(stateDir, output.handle) ?? '', 'utf8')).toBe('a long output');
  expect(await (await rollouts.find(SESSION))?.output(output.handle)).toEqual(output);
});

test('an import names the images that are not here as they were, and takes a copy for the file', async () => {
  const folder = folderWith({ 'same.png': 'same', 'edited.png': 'edited' });
  const digest = (content: string) => createHash('sha256').update(content).digest('hex');
  const at = (name: string) => join(folder, name);
  const noted = (name: string, was: string): ContentPart => ({
    type: 'local_image',
    path: at(name),
    sha256: digest(was),
  });
  const content: ContentPart[] = [
    noted('same.png', 'same'),
    noted('edited.png', 'before'),
    noted('gone.png', 'gone'),
    noted('copied.png', 'a copy'),
    { type: 'local_image' } as ContentPart,
    // As a version of before has attached them.
    { type: 'local_image', path: at('old.png') },
  ];
  const images = [{ path: at('old.png'), sha256: digest('old') }];
  const body = [...agentLines(SESSION, [{ type: 'user_message', content }]), outputOf('a copy')].map(
    (line) => (line.type === 'item' ? { ...line, images } : line),
  );
  const rollouts = new Rollouts({ stateDir: folderWith() });
  const { lost } = await importRollout(await exported(body), rollouts, AS_IT_IS);
  expect(lost).toEqual([
    {
      agent_id: SESSION,
      path: at('edited.png'),
      sha256: digest('before'),
      problem: 'its file has changed',
    },
    { agent_id: SESSION, path: at('gone.png'), sha256: digest('gone'), problem: 'its file is not here' },
    { agent_id: SESSION, path: at('old.png'), sha256: digest('old'), problem: 'its file is not here' },
  ]);
});

function outputOf(text: string) {
  return {
    type: 'output' as const,
    handle: handleName(createHash('sha256').update(text).digest('hex')),
    text,
  };
}
