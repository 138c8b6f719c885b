import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { builtinTools } from '../../../activities/tools/builtin-tools.ts';
import { offeredTools } from '../../../activities/tools/offered.ts';
import { remember } from '../../../activities/tools/remember.ts';
import { CadreError } from '../../../protocol/index.ts';
import { agentIn, contextIn, sessionWith } from './tool-context.ts';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-remember-'));
  path = join(folder, 'deep', 'memory.md');
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
  vi.unstubAllEnvs();
});

const note = (text: string) =>
  remember.run(
    remember.parameters.parse({ note: text }),
    contextIn(folder, { settings: { memory: { path } } }),
  );
const refusal = async (text: string) => {
  const error = await note(text).catch((error: unknown) => error);
  if (!(error instanceof CadreError)) throw new Error(`not refused: ${String(error)}`);
  return error.body;
};

test('a note is a line with its date at the end of the file, which only its owner may read', async () => {
  expect(await note('  Tests run with\n\n  `make check`.\u001b  ')).toContain(path);
  await note('Second.');
  const today = '\\d{4}-\\d\\d-\\d\\d';
  expect(readFileSync(path, 'utf8')).toMatch(
    new RegExp(`^- ${today}: Tests run with \`make check\`\\.\\n- ${today}: Second\\.\\n$`),
  );
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('what a person has written stays as it is, also without a last newline', async () => {
  mkdirSync(join(folder, 'deep'));
  writeFileSync(path, '# Mine\nno newline');
  await note('x');
  expect(readFileSync(path, 'utf8')).toMatch(/^# Mine\nno newline\n- .*: x\n$/);
});

test('blank and long notes are refused, and so are those that hold a secret of the environment', async () => {
  const parse = (text: string) => remember.parameters.safeParse({ note: text }).success;
  expect([parse(' \n '), parse('x'.repeat(1_001)), parse(` ${'x'.repeat(1_000)} `)]).toEqual([
    false,
    false,
    true,
  ]);
  vi.stubEnv('SOME_API_KEY', 'sk-0123456789');
  const { code, message } = await refusal('The key is sk-0123456789.');
  expect(code).toBe('invalid_arguments');
  expect(message).toContain('SOME_API_KEY');
  expect(message).not.toContain('sk-');
  await note('The key is in SOME_API_KEY.');
});

test('a memory that is full or is no file takes no more', async () => {
  mkdirSync(path, { recursive: true });
  await expect(note('x')).rejects.toThrow();
  rmSync(path, { recursive: true });
  writeFileSync(path, 'x'.repeat(1024 * 1024));
  expect(await refusal('x')).toMatchObject({ code: 'tool_failed', message: expect.stringContaining('full') });
  expect(statSync(path).size).toBe(1024 * 1024);
});

test('processes that note at once lose nothing', async () => {
  const source = new URL('../../../activities/tools/remember.ts', import.meta.url).href;
  const program = (name: string) => `
    const { remember } = await import(${JSON.stringify(source)});
    const context = { agent: { settings: { memory: { path: ${JSON.stringify(path)} } } } };
    for (let n = 0; n < 200; n++) await remember.run({ note: '${name} ' + n + ' ' + 'x'.repeat(900) }, context);`;
  await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program(name)]),
    ),
  );
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const seen = new Set(lines.map((line) => /^- \S+: ([abc] \d+) x{900}$/.exec(line)?.[1]));
  expect(lines).toHaveLength(600);
  expect(seen.size).toBe(600);
  expect(seen.has(undefined)).toBe(false);
});

test('it is offered where there is a memory, to roles that only read as well', () => {
  const names = (settings: object) =>
    offeredTools(agentIn({ working_directory: '/', ...settings }), sessionWith(), builtinTools).map(
      ({ name }) => name,
    );
  const tool_policy = { allow: [], deny: [], read_only: true as const };
  expect(names({})).not.toContain('remember');
  expect(names({ memory: { path } })).toContain('remember');
  expect(names({ memory: { path }, tool_policy })).toContain('remember');
});
