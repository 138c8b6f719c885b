import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Item } from '../../protocol/index.ts';
import { folderWith } from '../support/folders.ts';
import { type Lines, withRealWorker } from './real-worker.ts';

const stateDir = mkdtempSync(join(tmpdir(), 'cadre-worker-'));
afterAll(() => rmSync(stateDir, { recursive: true, force: true }));
const memory = join(stateDir, 'memory.md');
const start = withRealWorker({ stateDir, memory });

const call = (name: string, args: object): Lines[number] => ({ calls: [{ name, arguments: args }] });
const outputs = (items: Item[]) =>
  items.flatMap((item) => (item.type === 'tool_output' ? [item.output] : []));

test('a queued session that asks for a memory has that of its worker; a child is told what was noted before it', async () => {
  const session = await start({
    settings: { working_directory: folderWith() },
    session: { memory: {} },
    cast: {
      root: [
        call('remember', { note: 'first note' }),
        call('spawn_agent', { message: 'look', agent_type: 'explorer' }),
        call('wait', { ids: ['explorer-1'] }),
        { text: 'ok' },
      ],
      'explorer-1': [call('remember', { note: 'second note' }), { text: 'done' }],
    },
  });
  expect(await session.root.wait()).toMatchObject({ status: 'completed' });
  expect(readFileSync(memory, 'utf8')).toMatch(/^- .*: first note\n- .*: second note\n$/);
  for (const { instructions } of session.requests('root')) expect(instructions).not.toContain('first note');
  const child = session.requests('explorer-1').map(({ instructions }) => instructions);
  expect(child[0]).toContain(': first note');
  expect(new Set(child).size).toBe(1);

  const without = await start({
    settings: { working_directory: folderWith() },
    cast: { root: [call('remember', { note: 'third' }), { text: 'ok' }] },
  });
  expect(await without.root.wait()).toMatchObject({ status: 'completed' });
  expect(without.requests('root')[0]?.instructions).not.toContain('first note');
  expect(without.requests('root')[0]?.tools).not.toContain('remember');
  expect(outputs(await without.items())[0]).toContain('tool_not_allowed');
});

test('agents read their own conversation and those of their session while these run, and no other session’s', async () => {
  const other = await start({
    settings: { working_directory: folderWith() },
    cast: { root: [{ text: 'ours' }] },
  });
  await other.root.wait();
  const root: Lines = [
    (request) =>
      call('handle_read', {
        handle: `transcript:${request.agent.id}`,
        jsonpath: '$[0].content[0].text',
      }) as never,
    call('handle_read', { handle: `transcript:${other.root.id}`, range: {} }),
    call('handle_read', { handle: 'transcript:nobody-1', range: {} }),
    call('handle_read', { handle: 'h_0', range: {} }),
    { text: 'ok' },
  ];
  const session = await start({ settings: { working_directory: folderWith() }, cast: { root } });
  expect(await session.root.wait()).toMatchObject({ status: 'completed' });
  const [own, foreign, nobody, short] = outputs(await session.items());
  expect(own).toBe('"the task"\n[1 match]');
  for (const output of [foreign, nobody]) expect(output).toContain('"handle_not_found"');
  expect(foreign).not.toContain('ours');
  expect(short).toContain('"invalid_arguments"');
});
