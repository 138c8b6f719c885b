import type { Dirent } from 'node:fs';
import { lstat, opendir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { CadreError } from '../../protocol/index.ts';
import { systemReason } from '../system-reason.ts';
import { defineTool } from './define-tool.ts';
import { ordinaryPath, unreadable } from './ordinary-path.ts';
import { pathArgument, shownName } from './path-argument.ts';

const MOST_ENTRIES = 2_000;
/** Of one folder; in a larger one the rest is left out before sorting. */
const MOST_READ = 20_000;
/** Listed, but not looked into below the folder that was asked for: seldom what is meant, and large. */
const CLOSED_FOLDERS = new Set(['.git', 'node_modules']);

export const listDir = defineTool({
  name: 'list_dir',
  description:
    'Lists a folder and what is below it, indented by level. Folders end with /, links show where they lead, files show their size in bytes.',
  effects: 'none',
  parameters: z.strictObject({
    path: pathArgument.describe('Absolute, or relative to the working directory'),
    depth: z.int().positive().max(20).default(2).describe('Levels below the folder'),
    limit: z.int().positive().max(MOST_ENTRIES).default(300).describe('Most entries returned'),
  }),
  summary: ({ path }) => path,
  async run({ path, depth, limit }, context) {
    const { real, stats } = await ordinaryPath(context.resolve(path));
    if (!stats.isDirectory()) {
      throw new CadreError('tool_failed', `${shownName(path)} is a file, not a folder.`, {
        hint: 'Use read_file.',
      });
    }
    const listing = new Listing(limit, context.signal);
    await listing.add(real, 0, depth);
    return listing.text(path);
  },
});

class Listing {
  readonly #limit: number;
  readonly #signal: AbortSignal;
  readonly #lines: string[] = [];
  #leftOut = 0;
  #isPartial = false;

  constructor(limit: number, signal: AbortSignal) {
    this.#limit = limit;
    this.#signal = signal;
  }

  async add(folder: string, level: number, depth: number): Promise<void> {
    const entries = await this.#entries(folder, level);
    for (const entry of entries) {
      this.#signal.throwIfAborted();
      if (this.#lines.length >= this.#limit) {
        this.#leftOut++;
        continue;
      }
      this.#lines.push(`${'  '.repeat(level)}${await describe(folder, entry)}`);
      const isOpen = entry.isDirectory() && level + 1 < depth && !CLOSED_FOLDERS.has(entry.name);
      if (isOpen) await this.add(join(folder, entry.name), level + 1, depth);
    }
  }

  text(path: string): string {
    if (this.#lines.length === 0) return `[${shownName(path)} is empty]`;
    const more = this.#isPartial ? 'many' : `at least ${this.#leftOut}`;
    const rest =
      this.#leftOut > 0 || this.#isPartial
        ? [`[${more} more entries left out: name a folder below, or raise limit]`]
        : [];
    return [...this.#lines, ...rest].join('\n');
  }

  /** Sorted by name. A folder below that cannot be read is shown as such and ends nothing. */
  async #entries(folder: string, level: number): Promise<Dirent[]> {
    const entries: Dirent[] = [];
    try {
      for await (const entry of await opendir(folder)) {
        if (entries.length >= MOST_READ) {
          this.#isPartial = true;
          break;
        }
        entries.push(entry);
      }
    } catch (error) {
      if (level === 0) throw unreadable(folder, error);
      this.#lines.push(`${'  '.repeat(level)}[${systemReason(error, 'read')}]`);
    }
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

async function describe(folder: string, entry: Dirent): Promise<string> {
  const name = shownName(entry.name);
  if (entry.isDirectory()) return `${name}/`;
  const path = join(folder, entry.name);
  if (entry.isSymbolicLink()) return `${name} -> ${shownName(await readlink(path).catch(() => '?'))}`;
  if (!entry.isFile()) return `${name} [special]`;
  const size = await lstat(path).then(
    (stats) => stats.size,
    () => undefined,
  );
  return size === undefined ? name : `${name} (${size})`;
}
