import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { toolResult } from '../../../activities/mcp/tool-result.ts';
import { imageAddress } from '../../../activities/model/providers/image-file.ts';
import { IMAGES } from '../../support/images.ts';

const { png: PNG, gif: GIF } = IMAGES;
const image = (bytes: Buffer, mimeType = 'image/png') => ({
  type: 'image',
  mimeType,
  data: bytes.toString('base64'),
});

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'cadre-mcp-image-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));
const read = (content: object[], seesImages = true) =>
  toolResult({ content: content as never }, { stateDir, seesImages });

test('the first image that can be shown goes with the output; of the others it says why not', async () => {
  const large = Buffer.concat([PNG, Buffer.alloc(10 * 1024 * 1024)]);
  const result = await read([
    { type: 'text', text: 'look' },
    image(Buffer.from('<svg/>'), 'image/svg+xml'),
    image(large),
    image(Buffer.concat([large, large])),
    image(PNG.subarray(0, 20)),
    image(GIF),
    image(PNG),
    { type: 'image' },
  ]);
  expect(result.output.split('\n')).toEqual([
    'look',
    '[image image/svg+xml, 6 bytes: not shown: it is not a PNG, JPEG, GIF or WebP image]',
    `[image image/png, ${large.length} bytes: not shown: it is larger than 10 MiB]`,
    `[image image/png, ${2 * large.length} bytes: not shown: it is larger than 10 MiB]`,
    '[image image/png, 20 bytes: not shown: it is no whole PNG image: it breaks off]',
    `[image image/png, ${GIF.length} bytes: shown with this output]`,
    `[image image/png, ${PNG.length} bytes: not shown: an output shows one image, and another stands before it]`,
    '[image, 0 bytes: not shown: an output shows one image, and another stands before it]',
  ]);
  const { path = '', sha256 } = result.image ?? {};
  expect(readFileSync(path)).toEqual(GIF);
  const place = { working_directory: '/', state_dir: stateDir };
  expect(await imageAddress({ path, sha256 }, place)).toBe(`data:image/gif;base64,${GIF.toString('base64')}`);
});

test('where view_image is switched off no image is shown, nor kept', async () => {
  const result = await read([image(PNG)], false);
  expect(result).toEqual({
    output: `[image image/png, ${PNG.length} bytes: not shown: tools.view_image is off]`,
    success: true,
  });
  expect(existsSync(join(stateDir, 'handles'))).toBe(false);
});

test('what cannot be kept cannot be shown, and the rest of the answer is still told', async () => {
  const file = join(stateDir, 'a file');
  writeFileSync(file, '');
  const content = [{ type: 'text', text: 'look' }, image(PNG)] as never;
  const result = await toolResult({ content }, { stateDir: file, seesImages: true });
  expect(result.image).toBeUndefined();
  expect(result.output).toMatch(/^look\n\[image .* not shown: it could not be kept \(ENOTDIR\)\]$/);
});

const text = (said: string) => ({ type: 'text', text: said });

test.each<[string, object[], unknown]>([
  ['the same as JSON', [text('{ "b": 1, "a": [2] }')], { a: [2], b: 1 }],
  ['a text', [text('line\nanother')], { content: 'line\nanother' }],
  ['texts as one', [text('one'), text('other')], { content: 'one\nother' }],
  ['a list of texts', [text('one'), text('{"n":2}')], { result: ['one', { n: 2 }] }],
  ['a number', [text('3')], { result: 3 }],
  ['the content itself', [text('look'), image(PNG)], { content: [text('look'), image(PNG)] }],
])('what stands in fields once more is not told twice: %s', async (_, content, structuredContent) => {
  const plain = await read(content);
  const both = await toolResult({ content, structuredContent } as never, { stateDir, seesImages: true });
  expect(both.output).toBe(plain.output);
});

test.each<[object[], unknown]>([
  [[text('12 files')], { count: 12 }],
  [[text('one')], { result: ['one', 'other'] }],
  [[text('one')], { result: 'one', more: true }],
  [[], { result: null }],
  [[], []],
])('fields that say more are told: %j, %j', async (content, structuredContent) => {
  const { output } = await toolResult({ content, structuredContent } as never, {
    stateDir,
    seesImages: true,
  });
  expect(output.split('\n').at(-1)).toBe(JSON.stringify(structuredContent));
});

test('what is no base64 is measured in a moment', async () => {
  const begun = performance.now();
  const result = await read([{ type: 'audio', data: `${'='.repeat(300_000)}x` }]);
  expect(result.output).toMatch(/^\[audio, \d+ bytes: not shown\]$/);
  // Minutes, where the time grows with the square.
  expect(performance.now() - begun).toBeLessThan(8_000);
});
