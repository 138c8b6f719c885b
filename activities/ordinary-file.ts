import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
  statfsSync,
  statSync,
} from 'node:fs';

/** Settings, rules and lists are texts of people; what is larger is something else. */
const TEXT_BYTES_MAX = 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

/** What lies here is no file of anybody's: devices, and the memory and environment of processes. */
export const SPECIAL_FOLDERS: readonly string[] = ['/proc', '/sys', '/dev'];
/** Ordinary files in memory. */
const MEMORY_FOLDER = '/dev/shm/';
/** File systems of the kernel, wherever they are mounted: proc, sysfs, debugfs, tracefs, cgroup. */
const KERNEL_FILE_SYSTEMS = new Set([0x9fa0, 0x62656572, 0x64626720, 0x74726163, 0x63677270, 0x27e0eb]);

/** A file that is not read; the message goes on behind its path. */
export class UnfitFile extends Error {
  /** Of the system, where it refused. */
  readonly code: string | undefined;

  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.code = (cause as NodeJS.ErrnoException | undefined)?.code;
  }
}

/**
 * A small file whole, which may be anybody's: a regular one, also by a link. A pipe or a device could wait for ever or
 * never end, and the kernel's files show what no file of a project should. The null device is an empty file, as ever.
 *
 * @param most bytes
 * @returns also where it really lies
 * @throws UnfitFile
 */
export function readOrdinaryFile(path: string, most = TEXT_BYTES_MAX): { bytes: Buffer; real: string } {
  try {
    // To open a device may do something by itself.
    if (isEmpty(statSync(path), most)) return { bytes: Buffer.alloc(0), real: path };
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return readOpened(file, path, most);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof UnfitFile) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new UnfitFile(code === 'ENOENT' ? 'does not exist' : `cannot be read (${code ?? error})`, error);
  }
}

/** The path may lead elsewhere by now: only what was opened counts. */
function readOpened(file: number, path: string, most: number): { bytes: Buffer; real: string } {
  isEmpty(fstatSync(file), most);
  const real = placeOfOpened(file, path);
  const opened = process.platform === 'linux' ? openedName(file) : path;
  if (isSpecialPlace(real) || isKernelsOwn(statfsSync(opened).type)) throw new UnfitFile(NOT_ORDINARY);
  const chunks: Buffer[] = [];
  // Whatever its size was said to be.
  for (let left = most + 1; ; ) {
    const chunk = Buffer.alloc(Math.min(left, CHUNK_BYTES));
    const read = readSync(file, chunk, 0, chunk.length, null);
    if (read === 0) return { bytes: Buffer.concat(chunks), real };
    chunks.push(chunk.subarray(0, read));
    left -= read;
    if (left <= 0) throw tooLarge(most);
  }
}

/** The kernel's name of an open file, which no one can change. */
export function openedName(file: number): string {
  return `/proc/self/fd/${file}`;
}

/**
 * Where an open file lies, links resolved, or where it lay: it may have been replaced or removed since, which is no
 * reason to take it for missing. What the kernel says is not looked up again, as names on the way may have changed, too.
 *
 * @param file its descriptor
 * @throws UnfitFile, never with a code, where that cannot be told
 */
export function placeOfOpened(file: number, path: string): string {
  if (process.platform !== 'linux') return realpathSync(path);
  let place: string;
  try {
    place = readlinkSync(openedName(file));
  } catch (error) {
    throw new UnfitFile(`cannot be read: the kernel does not say where it lies (${error})`);
  }
  return place.endsWith(REMOVED) && !isNameOf(file, place) ? place.slice(0, -REMOVED.length) : place;
}

/** What Linux puts behind the name of an open file that is no longer there. */
const REMOVED = ' (deleted)';

/** A file may have such a name of its own. */
function isNameOf(file: number, path: string): boolean {
  const opened = fstatSync(file, { bigint: true });
  try {
    const named = lstatSync(path, { bigint: true });
    return named.ino === opened.ino && named.dev === opened.dev;
  } catch {
    return false;
  }
}

/** @throws UnfitFile for what is no file to be read */
function isEmpty(stats: Stats, most: number): boolean {
  if (stats.isDirectory()) throw new UnfitFile('is a folder, not a file');
  if (stats.isCharacterDevice() && stats.rdev === statSync('/dev/null').rdev) return true;
  if (!stats.isFile()) throw new UnfitFile(NOT_ORDINARY);
  if (stats.size > most) throw tooLarge(most);
  return false;
}

const NOT_ORDINARY = 'is no ordinary file: devices, pipes and what the kernel shows are not read';

function tooLarge(most: number): UnfitFile {
  return new UnfitFile(`is larger than ${most / 1024} KiB`);
}

/** Whether a path, links resolved, is none of anybody's files. */
export function isSpecialPlace(real: string): boolean {
  const isInside = SPECIAL_FOLDERS.some((folder) => real === folder || real.startsWith(`${folder}/`));
  return isInside && !real.startsWith(MEMORY_FOLDER);
}

/** @param type of a file system, as `statfs` has it */
export function isKernelsOwn(type: number | bigint): boolean {
  return process.platform === 'linux' && KERNEL_FILE_SYSTEMS.has(Number(type));
}
