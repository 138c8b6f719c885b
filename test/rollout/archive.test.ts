import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { KeyRing, RolloutBody } from '../../protocol/index.ts';
import { archiveDigest, archiveHeader, archiveText } from '../../rollout/archive.ts';
import { readRollout } from '../../rollout/read-rollout.ts';
import { writeLines } from '../../rollout/write-file.ts';
import { folderWith } from '../support/folders.ts';
import { SAMPLE, SESSION } from './sample-session.ts';

const RING: KeyRing = { current: 'k1', keys: new Map([['k1', randomBytes(32)]]) };

async function* all(lines: readonly RolloutBody[]): AsyncGenerator<RolloutBody> {
  yield* lines;
}

async function written(keys?: KeyRing, lines: readonly RolloutBody[] = SAMPLE): Promise<string> {
  const file = join(folderWith(), 'x.jsonl');
  await writeLines(file, archiveText(archiveHeader(SESSION, SESSION, '0', new Date()), all(lines), keys));
  return file;
}

test('an archive has the same digest whenever and however it was written, and another one of other content', async () => {
  const digest = await archiveDigest(await written(), undefined);
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect(await archiveDigest(await written(RING), RING)).toBe(digest);
  expect(await archiveDigest(await written(undefined, SAMPLE.slice(0, -1)), undefined)).not.toBe(digest);
});

test('with keys nothing in it is readable but who it is of', async () => {
  const text = readFileSync(await written(RING), 'utf8');
  const [header, ...rest] = text.trimEnd().split('\n');
  expect(JSON.parse(header ?? '')).toMatchObject({ type: 'archive', agent_id: SESSION, sealed: true });
  for (const line of rest) expect(JSON.parse(line)).toMatchObject({ type: 'sealed' });
});

test('what is no archive, cut off, or sealed with another key has no digest, and is no rollout either', async () => {
  const file = await written();
  const cut = join(folderWith(), 'cut');
  writeFileSync(cut, readFileSync(file, 'utf8').split('\n').slice(0, -2).join('\n'));
  const nothing = join(folderWith(), 'nothing');
  writeFileSync(nothing, 'hello');
  for (const path of [cut, nothing, join(folderWith(), 'none')]) {
    expect(await archiveDigest(path, undefined)).toBeUndefined();
  }
  expect(await archiveDigest(await written(RING), undefined)).toBeUndefined();
  await expect(readRollout(file, undefined).next()).rejects.toMatchObject({ code: 'rollout_invalid' });
});
