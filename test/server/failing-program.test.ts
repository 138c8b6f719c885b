import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findProgram } from '../../server/find.ts';
import { cacheDir, ensureServer, serverStatus } from '../../server/index.ts';
import { folderWith } from '../support/folders.ts';
import { emptyHome } from './homes.ts';

/** A recent `temporal` on PATH that does the given things when it is to serve. */
function programThat(script: string): string {
  const folder = folderWith({
    temporal: `#!/bin/sh\n[ "$1" = --version ] && exec echo "temporal (Server 99.0.0)"\n${script}\n`,
  });
  chmodSync(join(folder, 'temporal'), 0o755);
  return folder;
}

test('a server that ends at its start is told with the end of what it wrote, and of nothing before', async () => {
  const home = emptyHome();
  writeFileSync(join(home, 'server.log'), 'something old\n');
  const lines = [
    ...Array.from({ length: 20 }, (_, i) => `early ${i}`),
    JSON.stringify({ level: 'error', ts: '2026-01-01', msg: 'cannot serve', error: 'it is too late' }),
    'and out',
  ];
  const searchPath = programThat(`cat <<'END' >&2\n${lines.join('\n')}\nEND\nexit 3`);
  const error = await ensureServer({ home, searchPath }).catch((error: unknown) => error);
  expect(error).toMatchObject({
    code: 'server_unavailable',
    message: expect.stringMatching(/did not start: it ended with 3\. Its log ends:\n/),
    hint: expect.stringContaining(join(home, 'server.log')),
    retryable: true,
  });
  const { message } = error as Error;
  expect(message).toContain('cannot serve: it is too late\nand out');
  expect(message).not.toMatch(/something old|early 0/);
  expect(readFileSync(join(home, 'server.log'), 'utf8')).toContain('something old');
  expect(existsSync(join(home, 'server.json'))).toBe(false);
  expect(existsSync(join(home, 'server.lock'))).toBe(false);
  expect(await serverStatus(home)).toBeUndefined();
});

test('a server that is killed at its start is told, and the next start succeeds', async () => {
  const home = emptyHome();
  const searchPath = programThat('kill -9 $$');
  await expect(ensureServer({ home, searchPath })).rejects.toMatchObject({
    code: 'server_unavailable',
    message: expect.stringMatching(/did not start: it ended with SIGKILL\.$/),
  });
  const { pid } = await ensureServer({ home });
  expect(await serverStatus(home)).toMatchObject({ pid });
});

test('a port that somebody takes between the look and the start costs another attempt, no failure', async () => {
  const { path: real } = await findProgram({ cacheDir: cacheDir(), searchPath: '' });
  const home = emptyHome();
  const listen = `require('net').createServer().listen(+process.argv[1], '127.0.0.1', () => require('fs').writeFileSync('taken', process.argv[1]))`;
  const searchPath = programThat(`
    [ -e taken ] && exec ${real} "$@"
    ${process.execPath} -e "${listen}" "$6" & echo $! > thief
    until [ -e taken ]; do sleep 0.05; done
    exit 1`);
  onTestFinished(() => void process.kill(Number(readFileSync(join(home, 'thief'), 'utf8')), 'SIGKILL'));
  const { address } = await ensureServer({ home, searchPath });
  expect(address).not.toContain(`:${readFileSync(join(home, 'taken'), 'utf8')}`);
  expect(await serverStatus(home)).toMatchObject({ address });
});
