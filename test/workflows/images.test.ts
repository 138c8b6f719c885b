import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, lines, outputs, say, spawned, wait } from './script.ts';
import { withWorker } from './with-worker.ts';

const worker = withWorker();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cadre-test-images-'));
  const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
  await writeFile(join(folder, 'dot.png'), Buffer.from(png));
  await writeFile(join(folder, 'notes.txt'), 'no image');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const showing = (...paths: string[]) => [
  { type: 'text', text: 'look at this' },
  ...paths.map((path) => ({ type: 'local_image', path })),
];

describe.concurrent('an image of the workspace', () => {
  test('that is not there is refused to whoever names it, and nothing is started or sent', async () => {
    const dot = join(folder, 'dot.png');
    const notes = join(folder, 'notes.txt');
    const session = await worker().start({
      script: lines({
        root: [
          call('spawn_agent', { items: showing(dot, 'nowhere/to-be-found.png') }),
          call('spawn_agent', { items: showing(dot) }),
          ({ items }) => wait(spawned(items)),
          call('send_input', { id: 'default-1', items: showing(notes, '/dev/zero') }),
          call('send_input', { id: 'default-1', items: showing(dot) }),
          ({ items }) => wait(spawned(items)),
          say('ok'),
        ],
        '*': [say('I see'), say('again')],
      }),
    });
    await session.untilFinal();
    const items = await session.items();
    const [missing, started] = outputs(items, 'spawn_agent');
    expect(missing.error).toMatchObject({
      code: 'invalid_arguments',
      message: 'not every image can be attached: nowhere/to-be-found.png: it does not exist',
      hint: 'Nothing was sent. Paths begin in /tmp, where the receiver works.',
    });
    expect(started).toEqual({ agent_id: expect.stringMatching(/\/default-\d$/) });
    const [refused, sent] = outputs(items, 'send_input');
    expect(refused.error.message).toBe(
      `not every image can be attached: ${notes}: it is not a PNG, JPEG, GIF or WebP image; /dev/zero: it is no ordinary file: devices, pipes and what the kernel shows are not read`,
    );
    expect(sent).toEqual({ submission_id: expect.any(String) });
    expect((await session.tree()).agents).toHaveLength(2);
    const [, child] = (await session.tree()).agents;
    expect(child).toMatchObject({ turn: 2, message: 'again' });
  });
});
