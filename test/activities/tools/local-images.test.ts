import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtinTools } from '../../../activities/tools/builtin-tools.ts';
import { planCall } from '../../../activities/tools/offered.ts';
import { folderWith } from '../../support/folders.ts';
import { IMAGES } from '../../support/images.ts';
import { agentIn, sessionWith } from './tool-context.ts';

const { png: PNG } = IMAGES;
const DIGEST = createHash('sha256').update(PNG).digest('hex');

function planned(tool: string, args: object, path: string, folder: string, sha256?: string) {
  const items = [
    { type: 'text', text: 'look' },
    { type: 'local_image', path, sha256 },
  ];
  const call = { call_id: 'c1', name: tool, arguments: JSON.stringify({ ...args, items }) };
  return planCall(agentIn({ working_directory: folder }), sessionWith(), builtinTools, call);
}

test.each([
  ['spawn_agent', {}],
  ['send_input', { id: 'worker-1' }],
])(
  '%s takes an image by a path that is relative to the agent, and hands on the whole path with its digest',
  async (tool, args) => {
    const folder = folderWith({});
    writeFileSync(join(folder, 'dot.png'), PNG);
    expect(await planned(tool, args, 'dot.png', folder)).toMatchObject({
      kind: 'operation',
      arguments: {
        items: [{ type: 'text' }, { type: 'local_image', path: join(folder, 'dot.png'), sha256: DIGEST }],
      },
    });
  },
);

test('an image that is not the one that is meant is refused', async () => {
  const folder = folderWith({});
  writeFileSync(join(folder, 'dot.png'), PNG);
  expect(await planned('spawn_agent', {}, 'dot.png', folder, DIGEST)).toMatchObject({ kind: 'operation' });
  expect(await planned('spawn_agent', {}, 'dot.png', folder, '0'.repeat(64))).toMatchObject({
    kind: 'refused',
    error: { message: `items.1: the local_image ${join(folder, 'dot.png')}: its sha256 is ${DIGEST}.` },
  });
});

test.each([
  ['none.png', 'it does not exist'],
  ['notes.txt/none.png', 'it does not exist'],
  ['sub', 'it is a folder'],
  ['pipe', 'it is not a file'],
  ['notes.txt', 'it is not a PNG, JPEG, GIF or WebP image'],
  ['empty.png', 'it is not a PNG, JPEG, GIF or WebP image'],
  ['large.png', 'it is larger than 10 MiB'],
  ['fake.png', 'it is no whole PNG image: it breaks off'],
  ['a\0b.png', 'its name contains a NUL byte'],
])('%j is refused with the place in the call and the reason', async (path, reason) => {
  const folder = folderWith({ 'notes.txt': 'text', 'empty.png': '', 'large.png': ' '.repeat(11_000_000) });
  mkdirSync(join(folder, 'sub'));
  writeFileSync(join(folder, 'fake.png'), PNG.subarray(0, 30));
  execFileSync('/bin/sh', ['-c', `mkfifo '${join(folder, 'pipe')}'`]);
  for (const [tool, args] of [['spawn_agent', {}] as const, ['send_input', { id: 'worker-1' }] as const]) {
    expect(await planned(tool, args, path, folder)).toMatchObject({
      kind: 'refused',
      error: {
        code: 'invalid_arguments',
        message: `items.1: the local_image ${join(folder, path)}: ${reason}.`,
        hint: expect.stringContaining('Name an image'),
      },
    });
  }
});

test('an image of an argument of its own is refused by the name of that', async () => {
  const args = JSON.stringify({ subagent_id: 'x', message: 'look', images: ['https://x/y.png', 'none.png'] });
  const agent = agentIn({ working_directory: folderWith({}), dialect: 'mailbox' });
  const call = { call_id: 'c1', name: 'subagent_reply', arguments: args };
  expect(await planCall(agent, sessionWith(), builtinTools, call)).toMatchObject({
    kind: 'refused',
    error: { message: expect.stringMatching(/^images\.1: .*none\.png: it does not exist/) },
  });
});
