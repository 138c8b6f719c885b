import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentView } from '../../protocol/index.ts';
import { type Answer, type ModelServer, startModelServer } from '../support/model-server.ts';
import { CadreHome } from './cadre-home.ts';

const home = new CadreHome();
let model: ModelServer;

/** Every agent tries to write by a command, and then says what came of it. */
const lines: Answer[] = [
  { calls: [{ name: 'shell', arguments: { command: 'touch written.txt' } }] },
  { text: 'done' },
];
beforeAll(async () => {
  model = await startModelServer(({ answers }) => lines[answers] as Answer, { models: ['small', 'large'] });
});
afterAll(async () => {
  await home.remove();
  await model.close();
});

function folderWith(name: string, files: Record<string, string>): string {
  const folder = home.newFolder(name);
  for (const [path, text] of Object.entries(files)) write(join(folder, path), text);
  return folder;
}
function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
const run = (cwd: string, ...args: string[]) =>
  home.json<{ status: string; agents: AgentView[] }>(['run', 'write it', '-c', 'model=small', ...args], {
    cwd,
    env: { OPENAI_BASE_URL: model.url },
  });

test('the root of a run is held by its role, be it built in or of a file, in the project or at home', async () => {
  const folder = folderWith('held', {
    '.git/HEAD': '',
    '.claude/agents/reader.md': '---\ndescription: d\ntools: Read, Grep\nmodel: large\n---\nYou read on.\n',
    'deep/keep': '',
  });
  write(
    join(home.root, '.codex/agents/shy.toml'),
    'description = "d"\nsandbox_mode = "read-only"\ndeveloper_instructions = "You are shy."\n',
  );
  for (const role of ['explorer', 'shy']) {
    const { agents } = await run(folder, '--agent', role);
    expect(agents).toMatchObject([{ role, sandbox_mode: 'read-only', model: 'small' }]);
    expect(existsSync(join(folder, 'written.txt'))).toBe(false);
  }
  expect(model.requests.at(-1)?.instructions).toMatch(/You are shy\.$/);

  const { agents } = await run(join(folder, 'deep'), '--agent', 'READER');
  expect(agents).toMatchObject([{ role: 'reader', model: 'large' }]);
  expect(model.requests.at(-1)).toMatchObject({
    tools: ['read_file', 'grep_files', 'view_image', 'handle_read'],
    instructions: expect.stringMatching(/You read on\.$/),
  });
  // What is named for this run goes before what the role says.
  expect((await run(folder, '--agent', 'reader', '--model', 'small')).agents).toMatchObject([
    { model: 'small' },
  ]);
});

test('a role whose file is broken starts nothing and says why; all others do', async () => {
  const folder = folderWith('broken', {
    '.claude/agents/worker.md': '---\ndescription: d\ntools:\n  - Read\n - Bash\n---\nbody',
    '.claude/agents/fine.md': '---\ndescription: d\n---\nYou are fine.\n',
  });
  const broken = await home.run(['run', 'x', '--agent', 'worker', '--json'], { cwd: folder });
  expect(broken.code).toBe(2);
  expect(JSON.parse(broken.stdout).error).toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/\.claude\/agents\/worker\.md:\d: invalid YAML/),
  });
  expect((await run(folder, '--agent', 'fine')).agents).toMatchObject([
    { role: 'fine', status: 'completed' },
  ]);
  expect(existsSync(join(folder, 'written.txt'))).toBe(true);

  const listed = await home.run(['agents'], { cwd: folder });
  expect(listed.stderr).toContain('worker.md:');
  expect(listed.stdout).toMatch(/^fine +\.claude\/agents\/fine\.md/m);
  const checked = await home.run(['agents', 'check'], { cwd: folder });
  expect(checked).toMatchObject({ code: 1, stdout: expect.stringMatching(/^fail .*worker\.md$/m) });
});
