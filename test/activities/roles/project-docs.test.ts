import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { instructionsFor } from '../../../activities/roles/instructions.ts';
import { readProjectDocs } from '../../../activities/roles/project-docs.ts';
import { createResolveRole } from '../../../activities/roles/resolve-role.ts';
import { type AgentSettings, projectDocsText } from '../../../protocol/index.ts';
import { folderWith } from '../../support/folders.ts';
import { agentIn, sessionWith } from '../tools/tool-context.ts';

const MAX = 32_768;
/** A project with these files, and what an agent in one of its folders is told. */
function project(files: Record<string, string>) {
  const root = realpathSync(folderWith({ 'repo/.git/HEAD': '', 'repo/a/b/keep': '', ...files }));
  const at = (...parts: string[]) => join(root, ...parts);
  return { at, docs: (folder = 'repo/a/b', max = MAX) => readProjectDocs(at(folder), max) };
}

test('AGENTS.md files from the root of the repository down to the folder are told in that order, else CLAUDE.md', async () => {
  const { docs, at } = project({
    'AGENTS.md': 'above the repository',
    'repo/AGENTS.md': '\ufeffof the root\r\n',
    'repo/CLAUDE.md': 'not beside AGENTS.md',
    'repo/a/CLAUDE.md': 'of a',
    'repo/a/b/AGENTS.md': '',
    'repo/a/c/AGENTS.md': 'of another folder',
  });
  const told = {
    files: [
      { path: at('repo/AGENTS.md'), text: 'of the root' },
      { path: at('repo/a/CLAUDE.md'), text: 'of a' },
    ],
  };
  expect(await docs()).toEqual(told);
  expect((await docs('repo'))?.files.map(({ text }) => text)).toEqual(['of the root']);
  expect(projectDocsText(told)).toMatch(
    /From .*repo\/AGENTS\.md:\n\nof the root\n\nFrom .*a\/CLAUDE\.md:\n\nof a$/,
  );
});

test('outside of a repository the folder alone speaks, and where nothing is said nothing is told', async () => {
  const { docs } = project({
    'loose/AGENTS.md': 'above',
    'loose/in/AGENTS.md': 'here',
    'loose/empty/keep': '',
  });
  expect((await docs('loose/in'))?.files.map(({ text }) => text)).toEqual(['here']);
  expect(await docs('loose/empty')).toBeUndefined();
  expect(await docs('gone')).toBeUndefined();
  expect(await docs('loose', 0)).toBeUndefined();
});

test('what has no room is cut at a line, the nearest has room first, and each cut says how much is missing', async () => {
  const line = `${'é'.repeat(49)}\n`;
  const { docs, at } = project({
    'repo/AGENTS.md': line.repeat(20),
    'repo/a/AGENTS.md': line.repeat(5),
    'repo/a/b/AGENTS.md': 'near',
  });
  const cut = await docs('repo/a/b', 1_000);
  expect(cut?.files.map(({ text }) => Buffer.byteLength(text))).toEqual([494, 494, 4]);
  const total = Buffer.byteLength(cut?.files.map(({ text }) => `${text}\n`).join('') ?? '');
  expect(total).toBeLessThanOrEqual(1_000);
  expect(cut?.files[0]?.left_out).toBe(20 * 99 - 5 * 99);
  expect(projectDocsText(cut ?? { files: [] })).toContain(
    `1485 more bytes of ${at('repo/AGENTS.md')} left out`,
  );
  // None left: it is named all the same.
  expect((await docs('repo/a/b', 4))?.files.map(({ text, left_out: left }) => [text, left])).toEqual([
    ['', 1980],
    ['', 495],
    ['near', undefined],
  ]);
});

test('one long line is cut between characters', async () => {
  for (const max of [100, 101, 102, 103]) {
    const { docs } = project({ 'repo/AGENTS.md': '€'.repeat(1_000) });
    const [file] = (await docs('repo', max))?.files ?? [];
    expect(file?.text).toBe('€'.repeat(Math.floor(max / 3)));
    expect(file?.left_out).toBe(3_000 - 3 * Math.floor(max / 3));
  }
});

test('nothing is read but ordinary files of the project: all else is left out with the reason, and CLAUDE.md stands in', async () => {
  const { docs, at } = project({
    'secret.md': 'of the person',
    'repo/shared.md': 'shared',
    'repo/a/CLAUDE.md': 'stands in',
  });
  symlinkSync(at('secret.md'), at('repo/AGENTS.md'));
  mkdirSync(at('repo/a/AGENTS.md'));
  symlinkSync('../../shared.md', at('repo/a/b/AGENTS.md'));
  const told = await docs();
  expect(told?.files.map(({ text }) => text)).toEqual(['stands in', 'shared']);
  expect(told?.notices?.join('\n')).toMatch(
    /repo\/AGENTS\.md was left out: it is a link that leads out of the project/,
  );
  expect(told?.notices?.join('\n')).toMatch(/repo\/a\/AGENTS\.md was left out: it is a folder, not a file/);
  expect(JSON.stringify(told)).not.toContain('of the person');
  expect(projectDocsText(told ?? { files: [] })).toContain('leads out of the project');

  for (const make of [
    (path: string) => execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', path]),
    (path: string) => symlinkSync('/dev/zero', path),
    (path: string) => symlinkSync(path, path),
    (path: string) => symlinkSync('/proc/self/environ', path),
    (path: string) => symlinkSync('gone', path),
  ]) {
    const other = project({});
    make(other.at('repo/AGENTS.md'));
    expect((await other.docs('repo'))?.files ?? []).toEqual([]);
  }
});

test('bytes that are no text, and NUL, are shown as such', async () => {
  const { docs, at } = project({});
  writeFileSync(at('repo/AGENTS.md'), Buffer.from([0x61, 0xff, 0x00, 0x62]));
  const told = await docs('repo');
  expect(told?.files[0]?.text).toBe('a\ufffd\u2400b');
  expect(told?.notices).toEqual([expect.stringContaining('not UTF-8 throughout')]);
});

test('an agent is told them as they were when it was started; a child in the same folder has them from it, one elsewhere its own', async () => {
  const { at } = project({ 'repo/AGENTS.md': 'run make check', 'other/AGENTS.md': 'of the other' });
  const session = sessionWith({ project_doc_max_bytes: MAX });
  const resolve = createResolveRole({
    sessions: { get: async () => session },
    listModels: async () => undefined,
  });
  const agent = agentIn({ working_directory: at('repo') });
  const started = async (inherited: AgentSettings, more = {}) => {
    const answer = await resolve({ session_id: agent.session_id, inherited, role: 'default', ...more });
    if (!answer.ok) throw new Error(answer.error.message);
    return answer.settings;
  };
  const settings = await started(agent.settings);
  const told = await instructionsFor({ ...agent, settings }, new Set());
  expect(told.match(/run make check/g)).toHaveLength(1);
  writeFileSync(at('repo/AGENTS.md'), 'second');
  expect(await instructionsFor({ ...agent, settings }, new Set())).toBe(told);

  const { project_docs: _, ...sent } = settings;
  expect((await started(sent, { has_project_docs: true })).project_docs).toBeUndefined();
  expect((await started(sent)).project_docs?.files).toMatchObject([{ text: 'second' }]);
  const elsewhere = { has_project_docs: true, working_directory: at('other'), approved: true };
  expect((await started(sent, elsewhere)).project_docs?.files).toMatchObject([{ text: 'of the other' }]);
});

test('a session that does not ask for them has none', async () => {
  const { at } = project({ 'repo/AGENTS.md': 'first' });
  for (const more of [{}, { project_doc_max_bytes: 0 }]) {
    const resolve = createResolveRole({
      sessions: { get: async () => sessionWith(more) },
      listModels: async () => undefined,
    });
    const { session_id, settings: inherited } = agentIn({ working_directory: at('repo') });
    const answer = await resolve({ session_id, inherited, role: 'default' });
    expect(answer.ok && answer.settings.project_docs).toBeUndefined();
  }
});
