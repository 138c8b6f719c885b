import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { instructionsFor } from '../../../activities/roles/instructions.ts';
import { MEMORY_BYTES_SHOWN, memoryFor, memoryText } from '../../../activities/roles/memory.ts';
import { createResolveRole } from '../../../activities/roles/resolve-role.ts';
import { folderWith } from '../../support/folders.ts';
import { agentIn, sessionWith } from '../tools/tool-context.ts';

const memoryIn = (path: string) => memoryFor(sessionWith({ memory: { path } }));

test('a memory is that of the session, else that of the worker, and only where the session asks for one', async () => {
  const folder = folderWith({ 'own.md': '- own', 'session.md': '- of the session\n' });
  const own = join(folder, 'own.md');
  const path = join(folder, 'session.md');
  expect(await memoryFor(sessionWith({ memory: { path } }), own)).toEqual({ path, text: '- of the session' });
  expect(await memoryFor(sessionWith({ memory: {} }), own)).toEqual({ path: own, text: '- own' });
  expect(await memoryFor(sessionWith({ memory: {} }))).toBeUndefined();
  expect(await memoryFor(sessionWith(), own)).toBeUndefined();
});

test('of a long memory the newest notes are told, whole, and that there are more', async () => {
  const folder = folderWith({ 'memory.md': '' });
  const path = join(folder, 'memory.md');
  const lines = Array.from({ length: 2_000 }, (_, n) => `- note ${n} é`);
  writeFileSync(path, `${lines.join('\n')}\n`);
  const { text = '' } = (await memoryIn(path)) ?? {};
  expect(Buffer.byteLength(text)).toBeLessThan(MEMORY_BYTES_SHOWN + 100);
  const [mark = '', ...shown] = text.split('\n');
  expect(shown.length).toBeGreaterThan(500);
  expect(shown).toEqual(lines.slice(-shown.length));
  const [, leftOut] = /^\[… (\d+) bytes of older notes left out …\]$/.exec(mark) ?? [];
  expect(Number(leftOut) + Buffer.byteLength(shown.join('\n'))).toBe(
    Buffer.byteLength(`${lines.join('\n')}\n`),
  );
});

test('a memory that is missing, empty or no file keeps no agent from starting, and what is wrong is told', async () => {
  const folder = folderWith({ 'empty.md': ' \n', 'closed.md': 'x' });
  for (const name of ['missing.md', 'empty.md']) {
    const path = join(folder, name);
    expect(await memoryIn(path)).toEqual({ path });
  }
  mkdirSync(join(folder, 'folder.md'));
  expect((await memoryIn(join(folder, 'folder.md')))?.text).toMatch(/is a folder/);
  chmodSync(join(folder, 'closed.md'), 0);
  if (process.getuid?.() !== 0)
    expect((await memoryIn(join(folder, 'closed.md')))?.text).toMatch(/may not be read/);
  expect((await memoryIn('/dev/zero'))?.text).toMatch(/no ordinary file/);
});

test('an agent is told the notes before its role, the same for as long as it lives; its children those of their start', async () => {
  const folder = folderWith({ 'memory.md': '- 2026-01-01: first\n' });
  const path = join(folder, 'memory.md');
  const resolve = createResolveRole({
    sessions: { get: async () => sessionWith({ memory: { path } }) },
    listModels: async () => undefined,
  });
  const agent = agentIn({ working_directory: folder });
  const started = async (inherited = agent.settings) => {
    const answer = await resolve({ session_id: agent.session_id, inherited, role: 'worker' });
    if (!answer.ok) throw new Error(answer.error.message);
    return { ...agent, settings: answer.settings };
  };
  const root = await started();
  const told = await instructionsFor(root, new Set());
  expect(told).toContain(memoryText({ path, text: '- 2026-01-01: first' }));
  expect(told.indexOf('first')).toBeLessThan(told.indexOf('You carry out one piece'));
  writeFileSync(path, '- 2026-01-01: first\n- 2026-01-02: second\n');
  expect(await instructionsFor(root, new Set())).toBe(told);
  expect(await instructionsFor(await started(root.settings), new Set())).toContain('second');
});
