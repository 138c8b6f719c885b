import { StringDecoder } from 'node:string_decoder';
import { z } from 'zod';
import { CadreError, counted } from '../../protocol/index.ts';
import { runSupervised } from '../sandbox/supervised.ts';
import { defineTool, type ToolContext } from './define-tool.ts';
import { ordinaryPath } from './ordinary-path.ts';
import { ripgrepProgram } from './ripgrep.ts';

const TIMEOUT_MS = 60_000;
const MOST_MATCHES = 2_000;
const MOST_LINE_CHARACTERS = 300;
/** Of what ripgrep says about files it cannot read. */
const MOST_PROBLEMS = 5;

const withoutNul = (text: string): boolean => !text.includes('\0');

const parameters = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(10_000)
    .refine(withoutNul, { error: 'contains a NUL byte' })
    .describe('A regular expression, as ripgrep has them'),
  path: z.string().min(1).default('.').describe('A folder or file; default: the working directory'),
  include: z
    .string()
    .min(1)
    .refine(withoutNul)
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
    const search = new Search(limit);
    const argv = [await ripgrepProgram(), ...options(include, real), '-e', pattern, '--', start];
    const end = await search.run(argv, context.resolve('.'), context);
    return search.answer(path, end);
  },
});

function options(include: string | undefined, real: string): string[] {
  return [
    ...['--no-config', '--color=never', '--no-heading', '--with-filename', '--line-number'],
    ...['--hidden', '--glob=!.git'],
    ...[`--max-columns=${MOST_LINE_CHARACTERS}`, '--max-columns-preview'],
    ...(include === undefined ? [] : [`--glob=${include}`]),
    // Below the root lie the file systems of the kernel.
    ...(real === '/' ? ['--one-file-system'] : []),
  ];
}

type SearchEnd = { exitCode: number; timedOut: boolean } | 'enough';

/** Collects matches until there are enough, then has the search stopped. */
class Search {
  readonly #limit: number;
  readonly #matches: string[] = [];
  readonly #problems: string[] = [];
  readonly #enough = new AbortController();
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  constructor(limit: number) {
    this.#limit = limit;
  }

  async run(argv: string[], cwd: string, context: ToolContext): Promise<SearchEnd> {
    try {
      const end = await runSupervised({
        argv,
        cwd,
        environment: context.environment,
        signal: AbortSignal.any([context.signal, this.#enough.signal]),
        timeoutMs: TIMEOUT_MS,
        sandboxed: false,
        onOutput: (chunk) => this.#take(this.#decoder.write(chunk)),
      });
      this.#take(`${this.#decoder.end()}\n`);
      return end;
    } catch (error) {
      context.signal.throwIfAborted();
      if (this.#enough.signal.aborted) return 'enough';
      throw error;
    }
  }

  answer(path: string, end: SearchEnd): string {
    const isDone = end !== 'enough' && !end.timedOut;
    if (isDone && end.exitCode > 1 && this.#matches.length === 0) throw this.#failure(path);
    const notes = [
      ...(end === 'enough'
        ? [`only the first ${counted(this.#limit, 'match', 'matches')}: narrow the search or raise limit`]
        : []),
      ...(end !== 'enough' && end.timedOut
        ? [`stopped after ${TIMEOUT_MS / 1_000} s: narrow the search`]
        : []),
      ...this.#problems.slice(0, MOST_PROBLEMS),
    ];
    if (this.#matches.length === 0) return [`[no matches in ${path}]`, ...notes.map(bracket)].join('\n');
    return [...this.#matches, ...notes.map(bracket)].join('\n');
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') continue;
      if (/^rg: /.test(line) || (this.#problems.length > 0 && !/:\d+:/.test(line)))
        this.#problems.push(line.slice(0, 500));
      else if (this.#matches.length < this.#limit) this.#matches.push(clean(line));
      else this.#enough.abort();
    }
  }

  #failure(path: string): CadreError {
    const words = this.#problems.join('\n');
    const isPattern = /regex|glob/.test(words);
    return new CadreError(
      isPattern ? 'invalid_arguments' : 'tool_failed',
      `The search in ${path} failed: ${words}`,
    );
  }
}

function bracket(note: string): string {
  return `[${note}]`;
}

function clean(line: string): string {
  return line.replace(/^\.\//, '').replace(/\r$/, '').replaceAll('\0', '\u2400');
}
