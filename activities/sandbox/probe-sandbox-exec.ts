import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isExecutable } from './outside-path.ts';
import { firstLine } from './probe-failure.ts';
import type { NoSandbox } from './sandboxed-command.ts';
import { readOnlyRules, SANDBOX_EXEC, sandboxExecArgv } from './seatbelt.ts';
import { type SeatbeltRules, seatbeltProfile } from './seatbelt-profile.ts';

const run = promisify(execFile);

const PROBE_MS = 20_000;

/** What commands must not get done, by what the script below says or leaves when they do. */
const TRIES = `
echo fine > inside
(echo changed > ../outside) 2>/dev/null
(echo changed > .claude/kept) 2>/dev/null
(rm -rf .claude; mv .claude gone) 2>/dev/null
(mkdir .git || mkdir .GIT) 2>/dev/null && echo 'making .git'
(mv ../work ../moved) 2>/dev/null
ln ../outside linked 2>/dev/null && echo 'linking to a file outside'
kill -0 "$1" 2>/dev/null && echo 'signals to processes outside'
(exec 3<> "/dev/tcp/127.0.0.1/$2") 2>/dev/null && echo 'the network'
echo end
`;

/**
 * Finds out whether `sandbox-exec` takes the profiles, and holds what they say: Apple documents neither, and may change
 * them with any version. Whatever a command gets done that it must not, there is no sandbox.
 */
export async function probeSandboxExec(
  program: string = SANDBOX_EXEC,
): Promise<{ works: true; version: string } | NoSandbox> {
  if (!isExecutable(program)) return doesNotWork(`${program} is not there`);
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'cadre-probe-')));
  try {
    const broken = await tryOut(program, folder);
    if (broken !== undefined) return doesNotWork(`it did not hold back ${broken}`);
    return { works: true, version: `sandbox-exec (Darwin ${release()})` };
  } catch (error) {
    return doesNotWork(firstLine(error));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns what was not held back */
async function tryOut(program: string, folder: string): Promise<string | undefined> {
  const work = join(folder, 'work');
  const outside = join(folder, 'outside');
  const kept = join(work, '.claude', 'kept');
  await mkdir(join(work, '.claude'), { recursive: true });
  await writeFile(outside, 'as it was');
  await writeFile(kept, 'as it was');
  const rules = {
    writable: [work],
    guarded: [work],
    readOnly: [join(work, '.claude')],
    sockets: [work],
    network: false,
    hasTerminal: false,
  };
  // One that opens more is not tried out, but has to be understood.
  await runIn(program, work, { ...rules, network: true, hasTerminal: true }, ['/bin/sh', '-c', 'true']);
  const said = await withListener((port) =>
    runIn(program, work, rules, ['/bin/bash', '-c', TRIES, 'bash', String(process.pid), String(port)]),
  );
  const [done] = said.split('\n');
  if (done !== 'end') return done;
  if ((await readOr(join(work, 'inside'))) !== 'fine\n') throw new Error('nothing could be written inside');
  if ((await readOr(outside)) !== 'as it was') return 'writing outside';
  if ((await readOr(kept)) !== 'as it was') return 'changing .claude';
  const readOnly = readOnlyRules(join(work, 'scratch'));
  await runIn(program, work, readOnly, ['/bin/sh', '-c', '(echo x > more) 2>/dev/null; true']);
  return (await readdir(work)).includes('more') ? 'writing from read-only' : undefined;
}

async function runIn(
  program: string,
  cwd: string,
  rules: SeatbeltRules,
  command: readonly string[],
): Promise<string> {
  const [file = '', ...args] = sandboxExecArgv(program, seatbeltProfile(rules), {}, command);
  const { stdout } = await run(file, args, { cwd, timeout: PROBE_MS });
  return stdout;
}

async function withListener<T>(work: (port: number) => Promise<T>): Promise<T> {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await work((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

function readOr(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

function doesNotWork(reason: string): NoSandbox {
  const isNested = reason.includes('sandbox_apply');
  return {
    works: false,
    reason: `sandbox-exec does not work here (${reason})`,
    hint: isNested
      ? 'One sandbox cannot be started in another, and this worker seems to run in one: start it outside of that, or let that one contain the commands and use sandbox_mode = "danger-full-access".'
      : 'Report it with your version of macOS. Until then use sandbox_mode = "danger-full-access" where something else contains the commands.',
  };
}
