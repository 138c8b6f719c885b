import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { openOrdinaryFile } from '../../tools/ordinary-path.ts';

/** The largest image that is sent to a model, in bytes. */
export const IMAGE_BYTES_MAX = 10 * 1024 * 1024;

/** What tells the type of an image stands in its first bytes. */
const MARK_BYTES = 12;
const TOO_LARGE = `it is larger than ${IMAGE_BYTES_MAX / 1024 / 1024} MiB`;
const NO_IMAGE = 'it is not a PNG, JPEG, GIF or WebP image';
const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'it does not exist',
  EACCES: 'it may not be read',
  ERR_INVALID_ARG_VALUE: 'its name contains a NUL byte',
};

/**
 * A file as a data: address for a model.
 *
 * @throws Error that says what is wrong with the file: too large, no image, or not the one that was meant (`sha256`)
 */
export async function imageAddress(path: string, directory: string, sha256?: string): Promise<string> {
  const { bytes, type } = await readImage(resolve(directory, path));
  if (sha256 !== undefined && createHash('sha256').update(bytes).digest('hex') !== sha256) {
    throw new Error('it has changed since it was attached');
  }
  return `data:${type};base64,${bytes.toString('base64')}`;
}

/** @throws Error that says why a file cannot be looked at */
export async function checkImage(path: string): Promise<void> {
  const problem = imageProblem(path);
  if (problem !== undefined) throw new Error(problem);
}

/** What keeps a file from being shown to a model; undefined for an image. Only its beginning is read. */
export function imageProblem(path: string): string | undefined {
  try {
    // What is no file, such as a pipe, might keep whoever opens it waiting.
    const stats = statSync(path);
    if (stats.isDirectory()) return 'it is a folder';
    if (!stats.isFile()) return 'it is not a file';
    if (stats.size > IMAGE_BYTES_MAX) return TOO_LARGE;
    return imageType(beginningOf(path)) === undefined ? NO_IMAGE : undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return UNREADABLE[code] ?? `it cannot be read (${code})`;
  }
}

function beginningOf(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(MARK_BYTES);
    return bytes.subarray(0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

async function readImage(path: string): Promise<{ bytes: Buffer; type: string }> {
  const bytes = await readBounded(path);
  const type = imageType(bytes);
  if (type === undefined) throw new Error(NO_IMAGE);
  return { bytes, type };
}

async function readBounded(path: string): Promise<Buffer> {
  const { file, stats } = await openOrdinaryFile(path).catch((error: Error) => {
    // Whoever tells of it names the path itself.
    throw new Error(error.message.replace(`${path} `, 'it ').replace(/\.$/, ''), { cause: error });
  });
  try {
    if (stats.size > IMAGE_BYTES_MAX) throw new Error(TOO_LARGE);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function imageType(bytes: Buffer): string | undefined {
  if (bytes.subarray(0, 4).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47]))) return 'image/png';
  if (bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return 'image/jpeg';
  if (bytes.subarray(0, 4).toString('latin1') === 'GIF8') return 'image/gif';
  const webp =
    bytes.subarray(0, 4).toString('latin1') === 'RIFF' && bytes.subarray(8, 12).toString('latin1') === 'WEBP';
  return webp ? 'image/webp' : undefined;
}
