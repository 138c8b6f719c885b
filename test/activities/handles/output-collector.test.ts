import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { storeOutput } from '../../../activities/handles/handle-store.ts';
import { OutputCollector } from '../../../activities/handles/output-collector.ts';
import { handlePath } from '../../../rollout/handle-files.ts';

let stateDir: string;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'cadre-handles-'));
});
afterEach(() => rm(stateDir, { recursive: true, force: true }));

const drafts = async () =>
  (await readdir(join(stateDir, 'handles')).catch(() => [])).filter((name) => name.startsWith('.draft'));

test('the same content gets the same handle, from a text or a file, and only its owner may read it', async () => {
  const file = join(stateDir, 'out.txt');
  await writeFile(file, 'hello');
  const handle = await storeOutput(stateDir, { text: 'hello' });
  expect(await storeOutput(stateDir, { file })).toBe(handle);
  const path = handlePath(stateDir, handle) as string;
  expect(await readFile(path, 'utf8')).toBe('hello');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(join(stateDir, 'handles'))).mode & 0o777).toBe(0o700);
  expect(await drafts()).toEqual([]);
});

test.each(['', 'h_', 'h_../../etc/passwd', '../h_00', `h_${'0'.repeat(31)}`, `h_${'G'.repeat(32)}`])(
  'what is no handle has no path: %j',
  (text) => {
    expect(handlePath('/state', text)).toBeUndefined();
  },
);

test('a short output stays in memory', async () => {
  const collector = new OutputCollector({ stateDir, limitTokens: 1_000 });
  await collector.write(Buffer.from('a\n'));
  await collector.write(Buffer.from('b\n'));
  expect(await collector.finish()).toEqual({ text: 'a\nb\n', bytes: 4 });
  expect(await readdir(stateDir)).toEqual([]);
});

test('a long output is stored whole, whatever the chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 600 }), { minLength: 1, maxLength: 30 }),
      async (chunks) => {
        const collector = new OutputCollector({ stateDir, limitTokens: 100 });
        for (const chunk of chunks) await collector.write(Buffer.from(chunk));
        const all = Buffer.concat(chunks);
        const collected = await collector.finish();
        expect(collected.bytes).toBe(all.length);
        expect(collected.handle === undefined).toBe(all.length <= 400);
        if (collected.handle !== undefined) {
          const whole = await readFile(handlePath(stateDir, collected.handle) as string);
          expect(whole.equals(all)).toBe(true);
        }
      },
    ),
    { numRuns: 40 },
  );
  expect(await drafts()).toEqual([]);
});

test('100 MB pass through bounded memory', async () => {
  const collector = new OutputCollector({ stateDir, limitTokens: 10_000 });
  const chunk = Buffer.alloc(1_000_000, 'x');
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 100; i++) await collector.write(chunk);
  const grown = process.memoryUsage().rss - before;
  const { text, bytes, handle } = await collector.finish();
  expect(bytes).toBe(100_000_000);
  expect(text.length).toBeLessThan(41_000);
  expect((await stat(handlePath(stateDir, handle as string) as string)).size).toBe(100_000_000);
  expect(grown).toBeLessThan(80_000_000);
});

test('what is over the most that is stored is counted and left out, and the cut says so', async () => {
  const collector = new OutputCollector({ stateDir, limitTokens: 100, mostStored: 1_000 });
  for (let i = 0; i < 50; i++) await collector.write(Buffer.alloc(100, 'y'));
  const { text, bytes, handle } = await collector.finish();
  expect(bytes).toBe(5_000);
  expect(text).toContain('its first 1000 bytes');
  expect((await stat(handlePath(stateDir, handle as string) as string)).size).toBe(1_000);
});

test('an output is still shown when nothing can be stored', async () => {
  const file = join(stateDir, 'a-file');
  await writeFile(file, '');
  const collector = new OutputCollector({ stateDir: file, limitTokens: 100 });
  await collector.write(Buffer.alloc(5_000, 'z'));
  const { text, handle } = await collector.finish();
  expect(handle).toBeUndefined();
  expect(text).toMatch(/^z+\n\[… .* not stored: .*it leads through something that .* …\]\nz+$/);
});

test('a discarded output leaves no file behind', async () => {
  const collector = new OutputCollector({ stateDir, limitTokens: 100 });
  await collector.write(Buffer.alloc(5_000, 'z'));
  await collector.discard();
  expect(await drafts()).toEqual([]);
});
