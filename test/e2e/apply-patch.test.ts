import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import type { Answer } from '../support/model-server.ts';
import { CadreHome } from './cadre-home.ts';
import { call, PLAYED, PlayedModel } from './played-model.ts';

vi.setConfig({ testTimeout: 120_000 });

const model = new PlayedModel();
const home = new CadreHome();
// Not below /tmp, where everybody may write.
const outside = mkdtempSync('/var/tmp/cadre-outside-');
afterAll(async () => {
  await home.remove();
  rmSync(outside, { recursive: true, force: true });
});

const patch = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
const update = ['*** Update File: a.txt', '@@', '-old', '+new'];
const add = (path: string) => [`*** Add File: ${path}`, '+x'];

test('an agent changes files by patches and commands that apply one, and reaches nothing outside', async () => {
  const cwd = home.newFolder('patches');
  writeFileSync(join(cwd, 'a.txt'), 'old\n');
  mkdirSync(join(cwd, '.git'));
  const answers: Answer[] = [
    call('apply_patch', { input: patch(...update, ...add('sub/b.txt')) }),
    call('shell', {
      command: `apply_patch <<'EOF'\n${patch('*** Update File: a.txt', '@@', '-new', '+newer')}\nEOF`,
    }),
    call('apply_patch', { input: patch(...add('c.txt'), ...add(join(outside, 'd.txt'))) }),
    call('apply_patch', { input: patch(...add('c.txt'), ...add('.git/hooks/pre-commit')) }),
    call('apply_patch', { input: patch(...add('c.txt'), '*** Delete File: none.txt') }),
    { text: 'done' },
  ];
  const outputs: string[] = [];
  model.play = (request) => {
    outputs.push(request.outputs.at(-1) ?? '');
    return answers[request.answers] ?? { text: 'too many' };
  };
  const { env } = model;
  const ended = await home.run(['run', 'go', ...PLAYED], { cwd, env });
  expect(ended, ended.stderr).toMatchObject({ code: 0, stdout: 'done\n' });
  expect(outputs[1]).toBe('Applied:\nM a.txt (+1 -1)\nA sub/b.txt (+1)');
  expect(outputs[2]).toBe('Applied:\nM a.txt (+1 -1)');
  expect(outputs[3]).toContain('approval_unavailable');
  expect(outputs[3]).toContain(join(outside, 'd.txt'));
  expect(outputs[4]).toContain('approval_unavailable');
  expect(outputs[5]).toContain('none.txt does not exist');
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('newer\n');
  expect(readdirSync(cwd).sort()).toEqual(['.git', 'a.txt', 'sub']);
  expect(readdirSync(outside)).toEqual([]);
  expect(existsSync(join(cwd, '.git/hooks'))).toBe(false);
});

test('a role that only reads has no patches, by whatever name', async () => {
  const cwd = home.newFolder('reads');
  writeFileSync(join(cwd, 'a.txt'), 'old\n');
  const input = patch(...update);
  const answers: Answer[] = [
    call('apply_patch', { input }),
    call('shell', { command: ['apply_patch', input] }),
    { text: 'done' },
  ];
  const outputs: string[] = [];
  model.play = (request) => {
    expect(request.tools).not.toContain('apply_patch');
    outputs.push(request.outputs.at(-1) ?? '');
    return answers[request.answers] ?? { text: 'too many' };
  };
  const { env } = model;
  const args = ['run', 'go', ...PLAYED, '--agent', 'explorer', '-s', 'danger-full-access'];
  expect(await home.run(args, { cwd, env })).toMatchObject({ stdout: 'done\n' });
  expect(outputs.slice(1).map((output) => JSON.parse(output).error.code)).toEqual([
    'tool_not_allowed',
    'tool_not_allowed',
  ]);
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('old\n');
});
