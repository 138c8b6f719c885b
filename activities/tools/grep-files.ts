import { StringDecoder } from 'node:string_decoder';
import { z } from 'zod';
import { CadreError, counted } from '../../protocol/index.ts';
import { runSupervised, type SupervisedEnd } from '../sandbox/supervised.ts';
import { withNulShown } from '../with-nul-shown.ts';
import { containedReading } from './contained-reading.ts';
import { defineTool, type ToolContext } from './define-tool.ts';
import { ordinaryPath } from './ordinary-path.ts';
import { pathArgument, shownName } from './path-argument.ts';
import { ripgrepProgram } from './ripgrep.ts';

const TIMEOUT_MS = 60_000;
const MOST_MATCHES = 2_000;
const MOST_LINE_CHARACTERS = 300;
/** Of what ripgrep says about files it cannot read. */
const MOST_PROBLEMS = 5;

/** Said of a file that has matches, and is no text. */
const BINARY = /: binary file matches \(found .*\)$/;

const withoutNul = (text: string): boolean => !text.includes('\0');

const parameters = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(10_000)
    .refine(withoutNul, { error: 'contains a NUL byte' })
    .describe('A regular expression, as ripgrep has them'),
  path: pathArgument.default('.').describe('A folder or file; default: the working directory'),
  include: z
    .string()
    .min(1)
    .max(10_000)
    .refine(withoutNul, { error: 'contains a NUL byte' })
    .optional()
    .describe('Only files that match this glob: *.ts, src/**'),
  limit: z.int().positive().max(MOST_MATCHES).default(200).describe('Most matching lines returned'),
});

export const grepFiles = defineTool({
  name: 'grep_files',
  description:
    'Searches files for a regular expression and returns the matching lines as path:line:text. Hidden files are searched, ignored and binary ones are not.',
  effects: 'none',
  parameters,
  timeoutMs: () => TIMEOUT_MS + 10_000,
  summary: ({ pattern }) => pattern,
  async run({ pattern, path, include, limit }, context) {
    const { real } = await ordinaryPath(context.resolve(path));
    // A relative path is searched as it is, so that matches are shown relative to the working directory.
    const start = /^[/~]/.test(path) ? real : path;
    const search = new Search(limit, start);
    const argv = [await ripgrepProgram(), ...options(include, real), '-e', pattern, '--', start];
    const end = await search.run(argv, context.resolve('.'), context);
    return search.answer(path, end);
  },
});

function options(include: string | undefined, real: string): string[] {
  return [
    ...['--no-config', '--color=never', '--no-heading', '--with-filename', '--line-number'],
    // The path ends with a NUL, and no line is mixed with what is said about files that cannot be read.
    ...['--null', '--line-buffered'],
    ...['--hidden', '--glob=!.git'],
    ...[`--max-columns=${MOST_LINE_CHARACTERS}`, '--max-columns-preview'],
    ...(include === undefined ? [] : [`--glob=${include}`]),
    // Below the root lie the file systems of the kernel.
    ...(real === '/' ? ['--one-file-system'] : []),
  ];
}

type SearchEnd = Pick<SupervisedEnd, 'exitCode' | 'timedOut' | 'notBegun'> | 'enough';

/** Collects matches until there are enough, then has the search stopped. */
class Search {
  readonly #limit: number;
  readonly #matches: string[] = [];
  readonly #problems: string[] = [];
  readonly #enough = new AbortController();
  readonly #decoder = new StringDecoder('utf8');
  readonly #start: string;
  #rest = '';

  /** @param start what all paths that are found begin with */
  constructor(limit: number, start: string) {
    this.#limit = limit;
    this.#start = start;
  }

  async run(argv: string[], cwd: string, context: ToolContext): Promise<SearchEnd> {
    const { release, ...reading } = await containedReading(argv, cwd, context);
    try {
      const end = await runSupervised({
        ...reading,
        cwd,
        signal: AbortSignal.any([context.signal, this.#enough.signal]),
        timeoutMs: TIMEOUT_MS,
        onOutput: (chunk) => this.#take(this.#decoder.write(chunk)),
      });
      this.#take(this.#decoder.end());
      for (const line of this.#rest.split('\n')) this.#notice(line);
      return end;
    } catch (error) {
      context.signal.throwIfAborted();
      if (this.#enough.signal.aborted) return 'enough';
      throw error;
    } finally {
      await release();
    }
  }

  answer(path: string, end: SearchEnd): string {
    const isDone = end !== 'enough' && !end.timedOut;
    if (isDone && (end.exitCode > 1 || end.notBegun) && this.#matches.length === 0) throw this.#failure(path);
    const notes = [
      ...(end === 'enough'
        ? [`only the first ${counted(this.#limit, 'match', 'matches')}: narrow the search or raise limit`]
        : []),
      ...(end !== 'enough' && end.timedOut
        ? [`stopped after ${TIMEOUT_MS / 1_000} s: narrow the search`]
        : []),
      ...this.#problems.slice(0, MOST_PROBLEMS).map((problem) => problem.replaceAll('\n', '\\n')),
    ];
    if (this.#matches.length === 0)
      return [`[no matches in ${shownName(path)}]`, ...notes.map(bracket)].join('\n');
    return [...this.#matches, ...notes.map(bracket)].join('\n');
  }

  /** A match is a path, a NUL, and `number:text` up to the end of the line; the path may have ends of lines in it. */
  #take(text: string): void {
    this.#rest += text;
    let from = 0;
    for (let nul = this.#rest.indexOf('\0'); nul >= 0; nul = this.#rest.indexOf('\0', from)) {
      const end = this.#rest.indexOf('\n', nul);
      if (end < 0) break;
      const path = this.#pathIn(this.#rest.slice(from, nul));
      this.#match(`${shownName(path.replace(/^\.\//, ''))}:${clean(this.#rest.slice(nul + 1, end))}`);
      from = end + 1;
    }
    this.#rest = this.#rest.slice(from);
  }

  /** What is said of other files may stand in front. */
  #pathIn(text: string): string {
    const lines = text.split('\n');
    while (lines.length > 1 && (!lines[0]?.startsWith(this.#start) || BINARY.test(lines[0])))
      this.#notice(lines.shift() as string);
    return lines.join('\n');
  }

  #notice(line: string): void {
    if (line === '') return;
    const shown = line.slice(0, 500);
    if (BINARY.test(line)) this.#match(line.replace(/^\.\//, ''));
    else if (line.startsWith('rg: ') || this.#problems.length === 0) this.#problems.push(shown);
    else this.#problems.push(`${this.#problems.pop()}\n${shown}`.slice(0, 2_000));
  }

  #match(line: string): void {
    if (this.#matches.length < this.#limit) this.#matches.push(line);
    else this.#enough.abort();
  }

  #failure(path: string): CadreError {
    const words = this.#problems.join('\n');
    const isPattern = /regex|glob/.test(words);
    return new CadreError(
      isPattern ? 'invalid_arguments' : 'tool_failed',
      `The search in ${shownName(path)} failed: ${words}`,
    );
  }
}

function bracket(note: string): string {
  return `[${note}]`;
}

function clean(line: string): string {
  return withNulShown(line.replace(/\r$/, ''));
}
