import { crc32 } from 'node:zlib';

/** The type of an image that models can be shown, by its first bytes. */
export function imageType(bytes: Buffer): string | undefined {
  return formatOf(bytes)?.type;
}

/**
 * What is wrong with an image, as far as that is seen without decoding it: its parts follow each other to the end as
 * its format has them, and it has a size. A provider that cannot read an image refuses every request that holds it.
 *
 * @returns undefined for a whole image, and for what `imageType` knows no type of
 */
export function imageProblem(bytes: Buffer): string | undefined {
  const format = formatOf(bytes);
  if (format === undefined) return undefined;
  try {
    format.check(bytes);
    return undefined;
  } catch (error) {
    // A reader of bytes has come to their end.
    const reason = error instanceof RangeError ? 'it breaks off' : (error as Error).message;
    return `it is no whole ${format.name} image: ${reason}`;
  }
}

interface Format {
  name: string;
  type: string;
  isIts(bytes: Buffer): boolean;
  check(bytes: Buffer): void;
}

const ascii = (bytes: Buffer, from: number, to: number): string => bytes.toString('latin1', from, to);

const FORMATS: readonly Format[] = [
  {
    name: 'PNG',
    type: 'image/png',
    isIts: (bytes) => bytes.subarray(0, 4).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47])),
    check: checkPng,
  },
  {
    name: 'JPEG',
    type: 'image/jpeg',
    isIts: (bytes) => bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff])),
    check: checkJpeg,
  },
  { name: 'GIF', type: 'image/gif', isIts: (bytes) => ascii(bytes, 0, 4) === 'GIF8', check: checkGif },
  {
    name: 'WebP',
    type: 'image/webp',
    isIts: (bytes) => ascii(bytes, 0, 4) === 'RIFF' && ascii(bytes, 8, 12) === 'WEBP',
    check: checkWebp,
  },
];

function formatOf(bytes: Buffer): Format | undefined {
  return FORMATS.find((format) => format.isIts(bytes));
}

function requireSize(width: number, height: number): void {
  if (width < 1 || height < 1) throw new Error(`its size is ${width} × ${height}`);
}

const PNG_MARK = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Chunks of length, type, data and checksum: IHDR, anything, IDAT, anything, IEND, which decoders do without. */
function checkPng(bytes: Buffer): void {
  if (!bytes.subarray(0, 8).equals(PNG_MARK)) throw new Error('it has no signature');
  let hasData = false;
  for (let at = 8; !hasData || at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = ascii(bytes, at + 4, at + 8);
    const sum = bytes.readUInt32BE(at + 8 + length);
    // Those in capitals are needed to read it.
    const isNeeded = /^[A-Z]/.test(type);
    if (isNeeded && crc32(bytes.subarray(at + 4, at + 8 + length)) !== sum)
      throw new Error(`the checksum of ${type} is wrong`);
    if (at === 8) {
      if (type !== 'IHDR' || length !== 13) throw new Error('it does not begin with IHDR');
      requireSize(bytes.readUInt32BE(at + 8), bytes.readUInt32BE(at + 12));
    }
    hasData ||= type === 'IDAT';
    if (type === 'IEND') break;
    at += 12 + length;
  }
  if (!hasData) throw new Error('it has no IDAT');
}

/** Markers that stand alone, and those that begin a frame: all of C0 to CF but tables. */
const isAlone = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

/** A segment behind the first scan that says how high the image is. */
const HEIGHT = Buffer.from([0xff, 0xdc, 0, 4]);

/** Segments up to the first scan, a frame among them; decoders do without the end of the image. */
function checkJpeg(bytes: Buffer): void {
  let hasFrame = false;
  for (let at = 2; ; ) {
    if (bytes.readUInt8(at) !== 0xff) throw new Error('there is no marker where one has to be');
    while (bytes.readUInt8(at) === 0xff) at++;
    const marker = bytes.readUInt8(at);
    at++;
    if (isAlone(marker)) continue;
    if (marker === 0xd9) throw new Error('it ends before its data');
    if (isFrame(marker)) {
      const height = bytes.readUInt16BE(at + 3);
      const isHeightLater = height === 0 && bytes.includes(HEIGHT, at);
      requireSize(bytes.readUInt16BE(at + 5), isHeightLater ? 1 : height);
      hasFrame = true;
    }
    at += bytes.readUInt16BE(at);
    if (marker !== 0xda) continue;
    if (!hasFrame) throw new Error('it has no frame');
    if (at >= bytes.length) throw new Error('it breaks off');
    return;
  }
}

/** Bytes of a table of colours, by the byte that says whether there is one. */
const coloursAfter = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

/**
 * A logical screen, then blocks up to the trailer, which some writers leave out; an image among them. Writers pad blocks
 * with zeros, and leave the size of the screen to the image.
 */
function checkGif(bytes: Buffer): void {
  if (!['GIF87a', 'GIF89a'].includes(ascii(bytes, 0, 6))) throw new Error('it has no signature');
  let hasImage = false;
  let at = 13 + coloursAfter(bytes.readUInt8(10));
  while (!hasImage || at < bytes.length) {
    const block = bytes.readUInt8(at);
    if (block === 0x3b) break;
    if (block === 0) {
      at++;
      continue;
    }
    if (block === 0x2c) {
      hasImage ||= bytes.readUInt16LE(at + 5) > 0 && bytes.readUInt16LE(at + 7) > 0;
      at += 11 + coloursAfter(bytes.readUInt8(at + 9));
    } else if (block === 0x21) at += 2;
    else throw new Error('there is no block where one has to be');
    // What belongs to a block comes in pieces that say how long they are.
    while (bytes.readUInt8(at) !== 0) at += 1 + bytes.readUInt8(at);
    at++;
  }
  if (!hasImage) throw new Error('it holds no image');
}

/** A container whose first chunk is the image, or says what is to come. */
function checkWebp(bytes: Buffer): void {
  const end = 8 + bytes.readUInt32LE(4);
  if (end > bytes.length) throw new Error('it breaks off');
  let hasImage = false;
  for (let at = 12; at + 8 <= end; ) {
    const type = ascii(bytes, at, at + 4);
    const length = bytes.readUInt32LE(at + 4);
    if (at + 8 + length > end) throw new Error(`its part ${JSON.stringify(type)} breaks off`);
    const data = bytes.subarray(at + 8, at + 8 + length);
    if (type === 'VP8 ') checkVp8(data);
    if (type === 'VP8L' && data.readUInt8(0) !== 0x2f) throw new Error('its VP8L part has no signature');
    hasImage ||= ['VP8 ', 'VP8L', 'ANMF'].includes(type);
    at += 8 + length + (length % 2);
  }
  if (!hasImage) throw new Error('it holds no image');
}

function checkVp8(data: Buffer): void {
  if (data.readUIntBE(3, 3) !== 0x9d012a) throw new Error('its VP8 part has no signature');
  requireSize(data.readUInt16LE(6) & 0x3fff, data.readUInt16LE(8) & 0x3fff);
}
