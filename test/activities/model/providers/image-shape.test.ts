import { expect, test } from 'vitest';
import { imageProblem, imageType } from '../../../../activities/model/providers/image-shape.ts';
import { IMAGES } from '../../../support/images.ts';

const { png, gif, webp, jpeg } = IMAGES;
const FRAME = gif.indexOf(0x2c);
const ZEROS = Buffer.alloc(3);

function changed(image: Buffer, at: number, ...bytes: number[]): Buffer {
  const copy = Buffer.from(image);
  copy.set(bytes, at);
  return copy;
}

test.each(Object.entries(IMAGES))('a whole %s is an image, also with something behind it', (name, image) => {
  for (const bytes of [image, Buffer.concat([image, Buffer.from('more')])]) {
    expect(imageType(bytes)).toBe(`image/${name}`);
    expect(imageProblem(bytes)).toBeUndefined();
  }
});

test.each(Object.entries(IMAGES))('of a %s that breaks off anywhere that is said', (name, image) => {
  // What only says that it ends may be missing: the trailer of a GIF, IEND of a PNG, the marker in a JPEG.
  const end = { gif: 1, png: 12, jpeg: 1, webp: 0 }[name] ?? 0;
  const whole = image.length - end;
  for (let length = 12; length < whole; length++) {
    expect(imageProblem(image.subarray(0, length)), `${length} of ${image.length} bytes`).toMatch(
      /^it is no whole (PNG|JPEG|GIF|WebP) image: /,
    );
  }
});

test.each([
  [
    'a PNG of nothing but its first bytes',
    Buffer.from('\x89PNG\r\n\x1a\nnot really', 'latin1'),
    'breaks off',
  ],
  ['a PNG without width', changed(png, 16, 0, 0, 0, 0), 'the checksum of IHDR is wrong'],
  ['a PNG whose data was changed', changed(png, 43, 0xff), 'the checksum of IDAT is wrong'],
  ['a JPEG of first bytes', Buffer.from([0xff, 0xd8, 0xff, 1]), 'breaks off'],
  ['a JPEG without height', changed(jpeg, jpeg.indexOf(0xc2) + 4, 0, 0), 'its size is 1 × 0'],
  ['a JPEG without a frame', changed(jpeg, jpeg.indexOf(0xc2), 0xe1), 'it has no frame'],
  ['a GIF of first bytes', Buffer.from('GIF89a'), 'breaks off'],
  ['a GIF whose image has no width', changed(gif, FRAME + 5, 0, 0), 'holds no image'],
  ['a GIF that holds no image', Buffer.concat([gif.subarray(0, 19), Buffer.from(';')]), 'holds no image'],
  ['a WebP of first bytes', Buffer.from('RIFF....WEBP'), 'breaks off'],
  ['a WebP whose image is none', changed(webp, 23, 0), 'no signature'],
  ['a WebP without width', changed(webp, 26, 0, 0), 'its size is 0 × 1'],
  ['a WebP without an image', changed(webp, 12, 0x41), 'holds no image'],
])('%s is none', (_, bytes, problem) => {
  expect(imageProblem(bytes)).toContain(problem);
});

test.each([
  ['a PNG without IEND', png.subarray(0, -12)],
  ['a JPEG without its last marker', Buffer.concat([jpeg.subarray(0, -2), Buffer.from([0x12, 0x34])])],
  [
    'a JPEG that tells its height behind the scan',
    Buffer.concat([
      changed(jpeg, jpeg.indexOf(0xc2) + 4, 0, 0).subarray(0, -2),
      Buffer.from([0x12, 0xff, 0xdc, 0, 4, 0, 1, 0xff, 0xd9]),
    ]),
  ],
  ['a GIF with a screen of 0 × 0', changed(gif, 6, 0, 0, 0, 0)],
  [
    'a GIF with zeros between its blocks',
    Buffer.concat([gif.subarray(0, FRAME), ZEROS, gif.subarray(FRAME)]),
  ],
  ['a GIF with zeros before its end', Buffer.concat([gif.subarray(0, -1), ZEROS, Buffer.from(';')])],
  ['a GIF with zeros in the place of its end', Buffer.concat([gif.subarray(0, -1), ZEROS])],
  [
    'a GIF with a later frame of 0 × 0',
    Buffer.concat([gif.subarray(0, -1), changed(gif.subarray(FRAME), 5, 0, 0, 0, 0)]),
  ],
])('%s, which many decoders show, is one', (_, bytes) => {
  expect(imageProblem(bytes)).toBeUndefined();
});

test('what has no type of an image has no problem of one', () => {
  expect(imageType(Buffer.from('text'))).toBeUndefined();
  expect(imageProblem(Buffer.from('text'))).toBeUndefined();
});
