import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test, vi } from 'vitest';
import { rolloutText } from '../../rollout/write-rollout.ts';
import { agentLines, HEADER, SESSION } from '../rollout/sample-session.ts';
import { folderWith } from '../support/folders.ts';
import { environmentIn, MAIN } from './run-cadre.ts';

vi.setConfig({ testTimeout: 120_000 });

async function exported(): Promise<string> {
  let lines = '';
  for await (const line of rolloutText(HEADER, agentLines(SESSION, []), undefined)) lines += `${line}\n`;
  return lines;
}

/** What a shell makes of `cadre`, which stands for its words. */
async function shell(folder: string, command: string) {
  const child = spawn('bash', ['-c', command.replace('cadre', '"$0" "$@"'), process.execPath, MAIN], {
    cwd: folder,
    env: environmentIn(folder),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await ended;
  return { code, stdout, stderr };
}

test.each([
  'cat x.jsonl | cadre import -',
  'cat x.jsonl | cadre import /dev/stdin',
  'cadre import <(cat x.jsonl)',
])('%s takes in what comes by a pipe, and leaves no copy of it', async (command) => {
  const folder = folderWith({ 'x.jsonl': await exported() });
  const { code, stdout, stderr } = await shell(folder, `${command} --json`);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(JSON.parse(stdout)).toMatchObject({ session_id: SESSION, agents: 1 });
  expect(readdirSync(join(folder, 'state')).filter((name) => name.startsWith('copied'))).toEqual([]);
});

test('what is wrong with standard input is told of that, and no copy of it is left', async () => {
  const folder = folderWith({ 'x.jsonl': 'no rollout\n' });
  const { code, stderr } = await shell(folder, 'cat x.jsonl | cadre import -');
  expect(stderr).toMatch(/standard input cannot be used: line 1: /);
  expect(code).toBe(2);
  expect(readdirSync(join(folder, 'state'))).toEqual([]);
});

test('a schema may come by a pipe of the shell', async () => {
  const folder = folderWith();
  const { code, stderr } = await shell(folder, "cadre run --output-schema <(echo '[]') x");
  // It was read: what is wrong with it is told.
  expect(stderr).toContain('a JSON schema is an object');
  expect(code).toBe(2);
});
