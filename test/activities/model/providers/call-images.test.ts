import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { ModelProviders } from '../../../../activities/model/model-providers.ts';
import type { ModelReply } from '../../../../activities/model/providers/provider.ts';
import { type ContentPart, type Item, textMessage, type UserMessage } from '../../../../protocol/index.ts';
import { folderWith } from '../../../support/folders.ts';
import { IMAGES } from '../../../support/images.ts';
import { type Fault, type ModelServer, startModelServer } from '../../../support/model-server.ts';
import type { SeenRequest } from '../../../support/wire-requests.ts';
import { modelCall, said } from '../conversations.ts';

let server: ModelServer;
afterEach(() => server.close());

const REFUSED: Fault = { kind: 'status', status: 400, message: 'cannot do that' };
const holds = ({ body }: SeenRequest, image: Buffer) =>
  JSON.stringify(body).includes(image.toString('base64'));

/** An image file in a message. */
function withImages(...images: Buffer[]): UserMessage {
  const folder = folderWith();
  const content = images.map((bytes, index): ContentPart => {
    const path = join(folder, `${index}.img`);
    writeFileSync(path, bytes);
    return { type: 'local_image', path };
  });
  return { type: 'user_message', content };
}

describe.each(['responses', 'chat'] as const)('over %s', (wire_api) => {
  /** A provider that refuses as it is told to, in a process that knows nothing yet. */
  async function asking(faultOf: (request: SeenRequest) => Fault | undefined) {
    server = await startModelServer((request) => {
      const fault = faultOf(request);
      return fault === undefined ? { text: 'ok' } : { fault };
    });
    const anew = () => new ModelProviders({}).get('local', { local: { base_url: server.url, wire_api } });
    let provider = anew();
    const signal = new AbortController().signal;
    return {
      ask: (items: Item[]): Promise<ModelReply> =>
        provider.complete(modelCall(items), { signal, onDelta: () => {} }),
      restart: () => {
        provider = anew();
      },
      requests: () => server.requests.splice(0),
    };
  }

  test.each([
    ['names it', { ...REFUSED, message: 'Invalid image data' }],
    ['does not say why', REFUSED],
    ['finds the request too large', { ...REFUSED, status: 413 }],
    ['has no eyes', { ...REFUSED, status: 500, message: 'image input is not supported' }],
  ] as const)('a server that refuses an image and %s gets the request without it', async (_, fault) => {
    const { ask, restart, requests } = await asking((seen) => (holds(seen, IMAGES.png) ? fault : undefined));
    const items: Item[] = [withImages(IMAGES.png)];
    const reply = await ask(items);
    expect(reply.items).toEqual([said('ok')]);
    expect(reply.warnings).toEqual([expect.stringMatching(/was not shown the image .*0\.img.*refused/)]);
    expect(requests()).toHaveLength(2);

    // It is known from then on, and found out again by a worker that does not know.
    items.push(said('ok'), textMessage('and now?'));
    expect((await ask(items)).warnings).toBeUndefined();
    const [only, ...more] = requests();
    expect(more).toEqual([]);
    expect(JSON.stringify(only?.body)).toContain('0.img is not shown, since a request with it was refused');
    restart();
    expect((await ask(items)).items).toEqual([said('ok')]);
  });

  test('an image of a tool is left out as one of a message is', async () => {
    const { ask } = await asking((seen) => (holds(seen, IMAGES.png) ? REFUSED : undefined));
    const [image] = withImages(IMAGES.png).content as { path: string }[];
    const sha256 = createHash('sha256').update(IMAGES.png).digest('hex');
    const reply = await ask([
      textMessage('look'),
      { type: 'tool_call', call_id: 'c', name: 'view_image', arguments: '{}' },
      {
        type: 'tool_output',
        call_id: 'c',
        output: 'o',
        success: true,
        image: { path: image?.path ?? '', sha256 },
      },
    ]);
    expect(reply.items).toEqual([said('ok')]);
  });

  test('of several new ones those that are not refused are shown soon', async () => {
    const bad = [IMAGES.gif, IMAGES.webp];
    const good = [IMAGES.png, IMAGES.jpeg];
    const { ask, requests } = await asking((seen) =>
      bad.some((image) => holds(seen, image)) ? REFUSED : undefined,
    );
    const items: Item[] = [withImages(IMAGES.png, IMAGES.gif, IMAGES.webp, IMAGES.jpeg)];
    for (let call = 0; call < 5; call++) {
      await ask(items);
      items.push(said('ok'), textMessage('on'));
    }
    requests();
    await ask(items);
    const [seen, ...more] = requests() as [SeenRequest];
    expect(more).toEqual([]);
    expect(good.map((image) => holds(seen, image))).toEqual([true, true]);
  });

  test('a refusal that has nothing to do with images stays one', async () => {
    let fault: Fault | undefined = REFUSED;
    const { ask, requests } = await asking(() => fault);
    const items: Item[] = [withImages(IMAGES.png)];
    await expect(ask(items)).rejects.toMatchObject({ code: 'model_refused' });
    expect(requests()).toHaveLength(2);
    fault = undefined;
    await ask(items);
    const [shown] = requests() as [SeenRequest];
    expect(holds(shown, IMAGES.png)).toBe(true);
    // What an answer has accepted is not given up for what else is refused.
    fault = REFUSED;
    await expect(ask([...items, said('ok'), textMessage('and?')])).rejects.toMatchObject({
      code: 'model_refused',
    });
    expect(requests()).toHaveLength(1);
    fault = { ...REFUSED, code: 'context_length_exceeded' };
    await expect(ask([withImages(IMAGES.gif)])).rejects.toMatchObject({ code: 'context_full' });
    expect(requests()).toHaveLength(1);
  });
});
