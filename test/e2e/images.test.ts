import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import type { Item } from '../../protocol/index.ts';
import { startModelServer } from '../support/model-server.ts';
import type { SeenRequest } from '../support/wire-requests.ts';
import { CadreHome } from './cadre-home.ts';

vi.setConfig({ testTimeout: 240_000 });

const home = new CadreHome();
const other = new CadreHome();
afterAll(() => Promise.all([home.remove(), other.remove()]));

const BEFORE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const AFTER = Buffer.concat([BEFORE, Buffer.from('edited since')]);

test('an image stays what it was when it was attached, and what is not at hand any more is told to the model', async () => {
  const model = await startModelServer(({ answers }) => ({ text: `answer ${answers}` }));
  const env = { OPENAI_BASE_URL: model.url };
  const cwd = home.newFolder('images');
  const picture = join(cwd, 'dot.png');
  const newest = () => JSON.stringify((model.requests.at(-1) as SeenRequest).body);
  const ask = async (id: string, text: string): Promise<void> => {
    const before = model.requests.length;
    // It closes when it has answered, which may take a moment.
    const sent = async () => {
      await home.run(['resume', id], { env });
      return (await home.run(['send', id, text], { env })).code;
    };
    await expect.poll(sent, { timeout: 60_000 }).toBe(0);
    // Whoever waits works for the session.
    const asked = async () => {
      expect((await home.run(['wait', id], { env })).code).toBe(0);
      return model.requests.length;
    };
    await expect.poll(asked, { timeout: 90_000 }).toBeGreaterThan(before);
    expect(newest()).toContain(text);
  };
  // While the session closes, it may take a moment until it answers.
  const exportTo = async (file: string, id: string): Promise<void> => {
    const exported = async () => (await home.run(['export', id, '-o', file], { env })).code;
    await expect.poll(exported, { timeout: 60_000 }).toBe(0);
  };
  try {
    writeFileSync(picture, BEFORE);
    const { session_id: id } = await home.json<{ session_id: string }>(
      ['run', 'what is it?', '--image', 'dot.png'],
      { cwd, env },
    );
    expect(newest()).toContain(BEFORE.toString('base64'));
    const [task] = (await home.json<{ items: Item[] }>(['items', id], { env })).items;
    expect(task).toMatchObject({
      content: [{ type: 'text' }, { path: picture, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    });

    writeFileSync(picture, AFTER);
    await ask(id, 'and now?');
    expect(newest()).toContain(BEFORE.toString('base64'));
    expect(newest()).not.toContain(AFTER.toString('base64'));

    // The copy travels with the rollout, so that it can be shown on another machine.
    const file = join(home.root, 'session.jsonl');
    await exportTo(file, id);
    expect(await other.json(['import', file])).toMatchObject({ session_id: id, lost_images: [] });
    expect(readdirSync(join(other.home, 'handles'))).toHaveLength(1);
    rmSync(join(other.home, 'handles'), { recursive: true });

    // Without a copy the file has to be the one that was meant.
    rmSync(join(home.home, 'handles'), { recursive: true });
    await ask(id, 'once more?');
    expect(newest()).toContain(`[the image ${picture} could not be attached: it has changed since`);
    expect(newest()).not.toContain('data:image/png');
    await exportTo(file, id);
    // What an earlier rollout has of it is in the next one, too.
    expect(await other.json(['import', file, '--replace'])).toMatchObject({ lost_images: [] });
    rmSync(picture);
    await ask(id, 'where is it?');
    expect(newest()).toContain(`[the image ${picture} could not be attached: it is gone since`);
  } finally {
    await model.close();
  }
});

test.each(['responses', 'chat'])(
  'an agent is shown a file that it looks at, as it was then, and can be asked about it later (%s)',
  async (wire) => {
    const cwd = home.newFolder(`view-${wire}`);
    const picture = join(cwd, 'dot.png');
    writeFileSync(picture, BEFORE);
    writeFileSync(join(cwd, 'notes.txt'), 'text');
    const view = (path: string) => ({ name: 'view_image', arguments: { path } });
    const model = await startModelServer(({ answers }) => {
      if (answers === 0) return { calls: [view('dot.png'), view('notes.txt'), view('none.png'), view('.')] };
      // Whoever edits it afterwards changes nothing of what was seen.
      writeFileSync(picture, AFTER);
      return answers === 1 ? { calls: [{ name: 'list_dir', arguments: { path: '.' } }] } : { text: 'seen' };
    });
    try {
      const settings = { base_url: model.url, wire_api: wire, models: ['test-model'] };
      const flags = Object.entries(settings).flatMap(([key, value]) => [
        '-c',
        `model_providers.local.${key}=${JSON.stringify(value)}`,
      ]);
      const { session_id: id } = await home.json<{ session_id: string }>(
        ['run', 'look', '-c', 'model_provider=local', ...flags],
        { cwd },
      );
      const [first, second, third] = model.requests.map(({ body }) => JSON.stringify(body));
      expect(model.requests).toHaveLength(3);
      expect(first).not.toContain('data:image/png');
      for (const body of [second, third]) {
        expect(body).toContain(BEFORE.toString('base64'));
        expect(body).not.toContain(AFTER.toString('base64'));
        expect(body).toContain('it is not a PNG, JPEG, GIF or WebP image');
        expect(body).toContain('none.png does not exist');
        expect(body).toContain('it is a folder');
      }
      const { items } = await home.json<{ items: Item[] }>(['items', id]);
      const shown = items.filter((item) => item.type === 'tool_output' && item.image !== undefined);
      expect(shown).toMatchObject([
        { image: { path: picture, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } },
      ]);
      // The picture itself is not in the conversation.
      expect(JSON.stringify(items)).not.toContain(BEFORE.toString('base64').slice(0, 40));
    } finally {
      await model.close();
    }
  },
);

test('a model that refuses an image does not keep the conversation from going on', async () => {
  const cwd = home.newFolder('refused');
  writeFileSync(join(cwd, 'dot.png'), BEFORE);
  writeFileSync(join(cwd, 'fake.png'), '\x89PNG\r\n\x1a\nnot really', 'latin1');
  const view = (path: string) => ({ name: 'view_image', arguments: { path } });
  const model = await startModelServer(({ answers, body }) => {
    if (answers === 0) return { calls: [view('dot.png'), view('fake.png')] };
    if (JSON.stringify(body).includes(BEFORE.toString('base64')))
      return { fault: { kind: 'status', status: 400, message: 'answered' } };
    return { text: 'gone on without it' };
  });
  try {
    const env = { OPENAI_BASE_URL: model.url };
    const { session_id: id, ...ended } = await home.json<{ session_id: string }>(['run', 'look'], {
      cwd,
      env,
    });
    expect(JSON.stringify(ended)).toContain('gone on without it');
    const newest = JSON.stringify(model.requests.at(-1)?.body);
    expect(newest).toContain('dot.png is not shown, since a request with it was refused');
    expect(newest).toContain('it is no whole PNG image: it breaks off');
    const { events } = await home.json<{ events: { type: string; text?: string }[] }>(['events', id], {
      env,
    });
    const warnings = events.filter(({ type }) => type === 'warning');
    expect(warnings).toMatchObject([{ text: expect.stringContaining('The model was not shown') }]);
  } finally {
    await model.close();
  }
});
