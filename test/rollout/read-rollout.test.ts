import { randomBytes } from 'node:crypto';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { KeyRing, RolloutBody } from '../../protocol/index.ts';
import { readRollout } from '../../rollout/read-rollout.ts';
import { writeLines } from '../../rollout/write-file.ts';
import { rolloutText } from '../../rollout/write-rollout.ts';
import { folderWith } from '../support/folders.ts';
import { HEADER, SAMPLE, SESSION } from './sample-session.ts';

const RING: KeyRing = { current: 'k1', keys: new Map([['k1', randomBytes(32)]]) };

async function sampleFile(keys?: KeyRing): Promise<string> {
  const file = join(folderWith(), 'x.jsonl');
  await writeLines(file, rolloutText(HEADER, SAMPLE, keys));
  return file;
}

/** What is wrong with the sample once its lines are changed. */
async function problemWith(change: (lines: string[]) => string[], keys?: KeyRing) {
  const file = await sampleFile(keys);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  writeFileSync(file, change(lines).join('\n'));
  return problemOf(file, keys);
}

async function problemOf(file: string, keys?: KeyRing) {
  try {
    for await (const _ of readRollout(file, keys));
  } catch (error) {
    const { code, message, hint } = error as { code?: string; message: string; hint?: string };
    return { code, message: message.replace(`${file} cannot be used: `, 'FILE: '), hint };
  }
  return undefined;
}

const edited = (line: number, from: string | RegExp, to: string) => (lines: string[]) =>
  lines.map((text, index) => (index === line - 1 ? text.replace(from, to) : text));

test('a rollout is read as it was written, line by line', async () => {
  const read: unknown[] = [];
  for await (const { line } of readRollout(await sampleFile(), undefined)) read.push(line);
  expect(read.slice(0, -1)).toEqual([HEADER, ...SAMPLE]);
  expect(read.at(-1)).toMatchObject({ type: 'end', agents: 2, lines: SAMPLE.length });
});

const CHILD = JSON.stringify({
  id: 'a0k3v9x2m4qd8/worker-1',
  isChild: true,
  role: 'worker',
  status: 'completed',
  message: '',
  turn: 1,
  closed: true,
  seq: 1,
  pending: [],
});

describe('what is wrong is told with its line:', () => {
  test.each<[what: string, change: (lines: string[]) => string[], reason: RegExp]>([
    ['an empty file', () => [], /^FILE: line 1: the file is empty/],
    ['a text of something else', () => ['Dear diary'], /^FILE: line 1: no JSON, so this is no rollout/],
    ['JSON of something else', () => ['{"type":"session_meta"}'], /^FILE: line 1: it is no header/],
    [
      'an archive',
      () => ['{"type":"archive","format":1}'],
      /^FILE: line 1: this is the archive of a sub-agent/,
    ],
    ['a list', () => ['[1]'], /^FILE: line 1: no JSON/],
    ['a newer format', edited(1, '"format":1', '"format":2'), /line 1: it has format 2, .* formats up to 1/],
    ['a format that is none', edited(1, '"format":1', '"format":"1"'), /line 1: format: /],
    ['a session that is none', edited(1, SESSION, 'x'), /line 1: session_id: expected an agent id/],
    ['a line cut in two', (lines) => lines.slice(0, 3).concat('{"type":"it'), /line 4: it is no JSON/],
    ['a file cut between two lines', (lines) => lines.slice(0, -1), /line 7: the file ends here/],
    ['a line that is gone', (lines) => lines.toSpliced(3, 1), /line 5: agent .* has 1 items of 2/],
    ['a line twice', (lines) => lines.toSpliced(3, 0, lines[2] ?? ''), /line 4: item 0 .* where 1 is due/],
    [
      'a text that was changed',
      edited(3, 'hello', 'hullo'),
      /line 6: the items of .* are not those that it had/,
    ],
    [
      'an event that was changed',
      edited(5, 'watch out', 'all is well'),
      /line 8: the lines above have been changed/,
    ],
    [
      'a type that is not known',
      edited(3, '"item"', '"thing"'),
      /line 3: a line of the type "thing" is not known/,
    ],
    ['an item that is none', edited(4, '"text":"hi"', '"text":7'), /line 4: item: item.text: /],
    ['a state that lacks something', edited(2, '"inbox"', '"outbox"'), /line 2: agent: state.inbox: /],
    [
      'an input that is none, in a state',
      edited(2, '"waiting":[]', '"waiting":[{}]'),
      /line 2: agent: state.inbox.waiting.0/,
    ],
    [
      'an order that is none, in a state',
      edited(2, '"orders":[]', '"orders":[{}]'),
      /line 2: agent: state.orders/,
    ],
    [
      'a child of another session, in a state',
      edited(2, '"known":[]', `"known":[${CHILD}]`),
      /line 2: agent .* knows a0k3v9x2m4qd8\/worker-1, which is not of session/,
    ],
    [
      'a model that has seen more than there is',
      edited(2, '"known":0', '"known":99'),
      /line 2: .* seen 99 items of 2/,
    ],
    ['a setting that is not known', edited(2, '"model":', '"moddel":'), /line 2: agent: settings/],
    [
      'an agent of another session',
      edited(6, /a0k3v9x2m4qd7/g, 'a0k3v9x2m4qd8'),
      /line 6: .* not of session/,
    ],
    [
      'a child before its root',
      (lines) => [...lines.slice(0, 1), ...lines.slice(5)],
      /line 2: the root has to come/,
    ],
    [
      'no agents at all',
      (lines) => [...lines.slice(0, 1), ...lines.slice(-1)],
      /line 2: there is no agent above/,
    ],
    ['something behind the end', (lines) => [...lines, '{"type":"end","agents":0}'], /line 9: /],
    [
      'an agent twice',
      (lines) => [...lines.slice(0, -1), ...lines.slice(5)],
      /line 8: agent .* stands here twice/,
    ],
  ])('%s', async (_, change, reason) => {
    const problem = await problemWith(change);
    expect(problem).toMatchObject({ code: 'rollout_invalid', message: expect.stringMatching(reason) });
  });

  test('bytes that are no text', async () => {
    const file = await sampleFile();
    writeFileSync(
      file,
      Buffer.concat([readFileSync(file).subarray(0, 200), Buffer.from([0xff, 0xfe, 0x0a])]),
    );
    expect(await problemOf(file)).toMatchObject({ message: expect.stringMatching(/line 2: it is not text/) });
  });

  test('a line without an end, of which no more is held than a line may have', async () => {
    const file = await sampleFile();
    const header = readFileSync(file, 'utf8').split('\n')[0] ?? '';
    // 1 GiB that takes no room on the disk.
    truncateSync(file, header.length + 1);
    truncateSync(file, 1024 ** 3);
    const before = process.memoryUsage().rss;
    expect(await problemOf(file)).toMatchObject({
      code: 'rollout_invalid',
      message: 'FILE: line 2: it is longer than 64 MiB.',
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 ** 2);
  });

  test('a program', async () => {
    expect(await problemOf(process.execPath)).toMatchObject({
      code: 'rollout_invalid',
      message: expect.stringMatching(/ line 1: it is (not text|longer)/),
    });
  });

  test('every place at which a file may have been cut off', async () => {
    const file = await sampleFile();
    const whole = readFileSync(file);
    for (let length = 0; length < whole.length - 1; length += 23) {
      writeFileSync(file, whole.subarray(0, length));
      expect(await problemOf(file), `after ${length} bytes`).toMatchObject({ code: 'rollout_invalid' });
    }
  });
});

test('a newer version is named as what helps, and a file that an editor has touched is taken', async () => {
  expect(await problemWith(edited(1, '"format":1', '"format":9'))).toMatchObject({
    hint: expect.stringContaining('newer version of Cadre'),
  });
  expect(
    await problemWith((lines) => lines.map((line, i) => (i === 0 ? `\ufeff${line}\r` : `${line}\r`))),
  ).toBe(undefined);
});

test('an output that a handle does not name is refused', async () => {
  const lines: RolloutBody[] = [{ type: 'output', handle: `h_${'0'.repeat(32)}`, text: 'x' }];
  const writing = async () => {
    for await (const _ of rolloutText(HEADER, [...SAMPLE, ...lines], undefined));
  };
  await expect(writing()).rejects.toMatchObject({
    message: expect.stringContaining('names another content'),
  });
});

describe('sealed', () => {
  test('nothing of it can be read but the header, and the key opens it', async () => {
    const file = await sampleFile(RING);
    const [header = '', ...rest] = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(JSON.parse(header)).toEqual({ ...HEADER, sealed: true });
    expect(rest.join('\n')).not.toMatch(/hello|worker-1|completed/);
    expect(await problemOf(file, RING)).toBeUndefined();
  });

  test('a key that is missing, or is another one, is named', async () => {
    const file = await sampleFile(RING);
    expect(await problemOf(file)).toMatchObject({
      code: 'key_missing',
      message: expect.stringMatching(/^FILE: line 2: it is sealed with the key k1, which is not here/),
    });
    const other: KeyRing = { current: 'k1', keys: new Map([['k1', randomBytes(32)]]) };
    expect(await problemOf(file, other)).toMatchObject({
      code: 'key_missing',
      message: expect.stringContaining('the key k1 that is here does not open it'),
    });
  });

  test('lines that were exchanged, and lines in the clear between them, are found', async () => {
    const swapped = ([a = '', b = '', c = '', d = '', ...rest]: string[]) => [a, b, d, c, ...rest];
    expect(await problemWith(swapped, RING)).toMatchObject({
      message: expect.stringMatching(/line 3: item 1/),
    });
    const clear = (lines: string[]) => lines.with(2, JSON.stringify(SAMPLE[1]));
    expect(await problemWith(clear, RING)).toMatchObject({
      message: expect.stringMatching(/line 3: it is not sealed, as the header says/),
    });
  });
});
