import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { parse, TomlError } from 'smol-toml';
import { CadreError } from '../../protocol/errors.ts';
import { UnfitFile } from '../../worker/ordinary-file.ts';
import { readFileOrOpened } from '../opened-by-shell.ts';
import { type KeyPath, leaves, type Table } from './key-path.ts';

export interface TomlFile {
  path: string;
  /** SHA-256 of its bytes; none where they cannot be read. */
  digest: string | undefined;
  /** Nothing where it is broken. */
  values: Table;
  /** Why nothing of it can be used: a `config_invalid` with path and line. */
  broken?: CadreError;
  /** The line a key stands on, counted from 1; undefined where that cannot be told. */
  lineOf(path: KeyPath): number | undefined;
}

/** Reads a TOML file; undefined when there is none. One that cannot be read, or is no TOML, says so itself. */
export function readTomlFile(path: string): TomlFile | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileOrOpened(path);
  } catch (error) {
    if (!(error instanceof UnfitFile)) throw error;
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    const broken = new CadreError('config_invalid', `${path}: ${error.message}`, {
      hint: 'Make it a file that can be read, or move it away.',
      cause: error,
    });
    return { path, digest: undefined, values: {}, lineOf: () => undefined, broken };
  }
  const digest = createHash('sha256').update(bytes).digest('hex');
  try {
    const text = textOf(bytes, path);
    return { path, digest, values: parseToml(text, path), lineOf: lineFinder(text) };
  } catch (error) {
    if (!(error instanceof CadreError)) throw error;
    return { path, digest, values: {}, lineOf: () => undefined, broken: error };
  }
}

/** Read as something else, it would set something else than is written there. */
function textOf(bytes: Buffer, path: string): string {
  if (isUtf8(bytes)) return bytes.toString();
  let line = 1;
  for (let start = 0; ; line++) {
    const end = bytes.indexOf('\n', start);
    if (end < 0 || !isUtf8(bytes.subarray(start, end))) break;
    start = end + 1;
  }
  throw new CadreError('config_invalid', `${path}:${line}: not valid TOML: it is not UTF-8`, {
    hint: 'Save the file as UTF-8.',
  });
}

const MEND = 'Mend the line; strings need quotes, tables stand in [brackets].';
/** No setting lies deeper by far, and what walks through tables should not run out of stack. */
const MOST_DEEP = 100;

function parseToml(text: string, path: string): Table {
  try {
    return plainToml(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    if (error instanceof RangeError) {
      throw new CadreError('config_invalid', `${path}: not valid TOML: ${error.message}`, { hint: MEND });
    }
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split('\n', 1)[0]?.replace(/^Invalid TOML document: /, '');
    throw new CadreError('config_invalid', `${path}:${error.line}: not valid TOML: ${reason}`, {
      hint: MEND,
    });
  }
}

/**
 * Parses TOML into tables with the usual prototype, as everything after this expects.
 *
 * @throws TomlError, or RangeError for what is nested too deeply
 */
export function plainToml(text: string): Table {
  return toPlain(parse(text)) as Table;
}

function toPlain(value: unknown, depth = 0): unknown {
  if (depth > MOST_DEEP) throw new RangeError(`it is nested more than ${MOST_DEEP} deep`);
  if (Array.isArray(value)) return value.map((inner) => toPlain(inner, depth + 1));
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const table: Table = {};
  for (const [key, inner] of Object.entries(value)) {
    Object.defineProperty(table, key, {
      value: toPlain(inner, depth + 1),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return table;
}

const HEADER = /^\s*\[([^[\]]+)\]\s*(#.*)?$/;
const ASSIGNMENT =
  /^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=/;

/** The parser keeps no positions, so the lines are read once more, for headers and assignments only. */
function lineFinder(text: string): TomlFile['lineOf'] {
  const lines = new Map<string, number>();
  let table: KeyPath = [];
  text.split('\n').forEach((line, index) => {
    const header = HEADER.exec(line)?.[1];
    const key = ASSIGNMENT.exec(line)?.[1];
    const path = header !== undefined ? keyPath(header) : key !== undefined ? keyPath(key) : undefined;
    if (path === undefined) return;
    if (header !== undefined) table = path;
    const full = header !== undefined ? path : [...table, ...path];
    if (!lines.has(JSON.stringify(full))) lines.set(JSON.stringify(full), index + 1);
  });
  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const line = lines.get(JSON.stringify(path.slice(0, length)));
      if (line !== undefined) return line;
    }
    return undefined;
  };
}

/** The parts of a dotted key, quoted or not; undefined when it is none. */
export function keyPath(text: string): KeyPath | undefined {
  try {
    const found = leaves(plainToml(`${text} = true`));
    return found.length === 1 ? found[0]?.[0] : undefined;
  } catch {
    return undefined;
  }
}
