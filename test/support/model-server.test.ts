import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ModelProviders } from '../../activities/model/model-providers.ts';
import { type Item, textMessage } from '../../protocol/index.ts';
import { modelCall, said, toolOutput } from '../activities/model/conversations.ts';
import { startModelServer } from './model-server.ts';
import { scriptAnswerer } from './scripted-model-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'model-server-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SCRIPT = join(folder, 'play.yaml');
writeFileSync(
  SCRIPT,
  `
agents:
  - role: default
    task: count
    steps:
      - text: I count
        calls: [{ tool: list_dir, id: entries, arguments: { path: . } }]
      - fail: { status: 503, times: 1 }
        text: 'It holds {{ outputs.entries }}; {{ notices | first }}; from {{ agent.id }}; {{ input }}'
`,
);

const options = { signal: new AbortController().signal, onDelta: () => {} };

describe.each(['responses', 'chat'] as const)('over %s', (wire_api) => {
  test('a script plays the same over HTTP as in the worker', async () => {
    const server = await startModelServer(scriptAnswerer(SCRIPT));
    try {
      const configured = { local: { base_url: server.url, wire_api }, script: { script: SCRIPT } };
      const providers = new ModelProviders({});
      const local = providers.get('local', configured);
      const items: Item[] = [textMessage('count', 'a0k3v9x2m4qd7/worker-1')];
      const first = await local.complete(modelCall(items), options);
      expect(first.items).toEqual(
        (await providers.get('script', configured).complete(modelCall(items), options)).items,
      );
      items.push(
        ...first.items,
        toolOutput('entries-1', 'three'),
        { type: 'notice', text: 'news' },
        textMessage('now'),
      );
      await expect(local.complete(modelCall(items), options)).rejects.toMatchObject({ retryable: true });
      const last = await local.complete(modelCall(items), options);
      expect(last.items).toEqual([said('It holds three; news; from a0k3v9x2m4qd7; now')]);
    } finally {
      await server.close();
    }
  });
});

test('a script that has no answer is a refusal with its reason, not an error to be tried again', async () => {
  const server = await startModelServer(scriptAnswerer(SCRIPT));
  try {
    const provider = new ModelProviders({}).get('local', { local: { base_url: server.url } });
    await expect(provider.complete(modelCall([textMessage('other')]), options)).rejects.toMatchObject({
      code: 'model_refused',
      message: expect.stringContaining('none is for role default'),
    });
  } finally {
    await server.close();
  }
});

test('who does not ask for a stream gets an answer of the Responses API in one piece', async () => {
  const server = await startModelServer(() => ({
    text: 'I read it',
    calls: [{ name: 'read_file', arguments: { path: 'a' } }],
  }));
  try {
    const response = await fetch(`${server.url}/responses`, {
      method: 'POST',
      body: JSON.stringify({ model: 'test-model', input: 'go' }),
    });
    expect(await response.json()).toMatchObject({
      object: 'response',
      status: 'completed',
      output: [
        { type: 'message', content: [{ type: 'output_text', text: 'I read it' }] },
        { type: 'function_call', name: 'read_file', arguments: '{"path":"a"}' },
      ],
      usage: { input_tokens: expect.any(Number) },
    });
  } finally {
    await server.close();
  }
});

test('as a process of its own it prints its address and serves until it is ended', async () => {
  const child = spawn(process.execPath, [
    'test/support/scripted-model-server.ts',
    '--script',
    SCRIPT,
    '--wire',
    'chat',
  ]);
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const provider = new ModelProviders({}).get('local', { local: { base_url: line.toString().trim() } });
    const reply = await provider.complete(modelCall([textMessage('count')]), options);
    expect(reply.items[0]).toEqual(said('I count'));
  } finally {
    child.kill();
    await once(child, 'exit');
  }
});
