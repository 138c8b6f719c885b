import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFile,
  readFileSync,
  type Stats,
  statSync,
} from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { ImageFile } from '../../../protocol/index.ts';
import { handleName, handlePath } from '../../../rollout/handle-files.ts';
import { storeOutput } from '../../handles/handle-store.ts';
import type { CallImages } from './call-images.ts';
import { imageProblem, imageType } from './image-shape.ts';

/** The largest image that is sent to a model, in bytes. */
export const IMAGE_BYTES_MAX = 10 * 1024 * 1024;

const TOO_LARGE = `it is larger than ${IMAGE_BYTES_MAX / 1024 / 1024} MiB`;
const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'it does not exist',
  EACCES: 'it may not be read',
  ERR_INVALID_ARG_VALUE: 'its name contains a NUL byte',
};

/** A file that is there, and no model could be shown. */
class Unfit extends Error {}

/** Where images are found. */
export interface ImagePlace {
  /** Where relative paths start. */
  working_directory: string;
  /** CADRE_HOME: copies of images that were shown are kept there. */
  state_dir?: string;
  /** Has the last word on which are shown; default: all are. */
  images?: CallImages;
}

/**
 * An image as a data: address for a model. One whose digest was noted when it was attached stays what it was: the copy
 * that was kept when it was first shown goes before the file, which may be edited or removed.
 *
 * @throws Error that says what is wrong with the file: too large, no image, or not the one that was meant (`sha256`)
 */
export async function imageAddress(
  { path, sha256 }: { path: string; sha256?: string | undefined },
  { working_directory: directory, state_dir: stateDir }: ImagePlace,
): Promise<string> {
  const file = resolve(directory, path);
  if (sha256 === undefined) return addressOf(await readImage(file));
  const kept = stateDir === undefined ? undefined : handlePath(stateDir, handleName(sha256));
  const copy = kept === undefined ? undefined : await readImage(kept).catch(() => undefined);
  if (copy?.sha256 === sha256) return addressOf(copy);
  const found = await readImage(file).catch((error: unknown) => {
    throw isGone(error) ? new Unfit('it is gone since it was attached') : error;
  });
  if (found.sha256 !== sha256) throw new Unfit('it has changed since it was attached');
  if (stateDir !== undefined) await keep(found, stateDir);
  return addressOf(found);
}

/**
 * Keeps a copy of an image as it is now, under its digest.
 *
 * @throws Error that says what keeps the file from being shown to a model
 */
export async function keepImage(path: string, stateDir: string): Promise<{ sha256: string }> {
  const found = await readImage(path);
  await keep(found, stateDir);
  return { sha256: found.sha256 };
}

/**
 * Keeps an image that there is no file of: its copy is the file.
 *
 * @throws Error that says what keeps it from being shown to a model
 */
export async function keepImageData(base64: string, stateDir: string): Promise<ImageFile> {
  // Of what is much too large nothing is decoded.
  if (base64.length > 2 * IMAGE_BYTES_MAX) throw new Unfit(TOO_LARGE);
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length > IMAGE_BYTES_MAX) throw new Unfit(TOO_LARGE);
  wholeImage(bytes);
  const handle = await storeOutput(stateDir, { bytes }).catch((error: unknown) => {
    throw new Error(`it could not be kept (${errorCode(error)})`, { cause: error });
  });
  return { path: handlePath(stateDir, handle) as string, sha256: digestOf(bytes) };
}

/** Without room for a copy it is shown from its file. */
async function keep(image: Image, stateDir: string): Promise<void> {
  await storeOutput(stateDir, image).catch(() => {});
}

/** What tells an image apart from what it is changed into; or what keeps a file from being shown to a model. */
export function imageDigest(path: string): { sha256: string } | { problem: string } {
  try {
    const file = opened(path);
    try {
      return { sha256: digestOf(wholeImage(readFileSync(file)).bytes) };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

interface Image {
  type: string;
  bytes: Buffer;
  sha256: string;
}

async function readImage(path: string): Promise<Image> {
  const file = opened(path);
  try {
    const image = wholeImage(await promisify(readFile)(file));
    return { ...image, sha256: digestOf(image.bytes) };
  } finally {
    closeSync(file);
  }
}

function wholeImage(bytes: Buffer): { type: string; bytes: Buffer } {
  const type = imageType(bytes);
  if (type === undefined) throw new Unfit('it is not a PNG, JPEG, GIF or WebP image');
  const problem = imageProblem(bytes);
  if (problem !== undefined) throw new Unfit(problem);
  return { type, bytes };
}

function addressOf({ type, bytes }: Image): string {
  return `data:${type};base64,${bytes.toString('base64')}`;
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function isGone(error: unknown): boolean {
  return error instanceof Error && error.message === UNREADABLE.ENOENT;
}

/** A file that may be an image, for whoever closes it. */
function opened(path: string): number {
  try {
    return openImage(path);
  } catch (error) {
    if (error instanceof Unfit) throw error;
    const code = errorCode(error);
    throw new Error(UNREADABLE[code] ?? `it cannot be read (${code})`, { cause: error });
  }
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

function openImage(path: string): number {
  // To open what is no file, such as a pipe or a device, may wait, or do something.
  requireFit(statSync(path));
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    // The path may lead elsewhere by now.
    requireFit(fstatSync(file));
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function requireFit(stats: Stats): void {
  if (stats.isDirectory()) throw new Unfit('it is a folder');
  if (!stats.isFile()) throw new Unfit('it is not a file');
  if (stats.size > IMAGE_BYTES_MAX) throw new Unfit(TOO_LARGE);
}
