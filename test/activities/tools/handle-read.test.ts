import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { storeOutput } from '../../../activities/handles/handle-store.ts';
import type { ReadTranscript } from '../../../activities/handles/transcripts.ts';
import { handleRead } from '../../../activities/tools/handle-read.ts';
import { type AgentId, agentSettingsSchema, CadreError, type Item } from '../../../protocol/index.ts';
import { handlePath } from '../../../rollout/handle-files.ts';
import { contextIn } from './tool-context.ts';

// Threads, and a gigabyte, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cadre-handle-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const store = (content: string | Uint8Array) =>
  storeOutput(join(folder, '.state'), typeof content === 'string' ? { text: content } : { bytes: content });

/** Lines, and behind them zeros: without a disk full of them. */
async function gigabyte(): Promise<string> {
  const handle = await store(Array.from({ length: 2_000 }, (_, n) => `line ${n + 1}\n`).join(''));
  truncateSync(handlePath(join(folder, '.state'), handle) as string, 1024 ** 3);
  return handle;
}

interface Options {
  /** In tokens. */
  limit?: number;
  readTranscript?: ReadTranscript;
  signal?: AbortSignal;
}

async function read(args: Record<string, unknown>, { limit, ...context }: Options = {}): Promise<string> {
  const limits = agentSettingsSchema.shape.limits.parse(
    limit === undefined ? {} : { tool_output_limit: limit },
  );
  const result = await handleRead.run(
    handleRead.parameters.parse(args),
    contextIn(folder, { settings: { limits }, ...context }),
  );
  return typeof result === 'string' ? result : result.output;
}
const refusal = async (args: Record<string, unknown>, options?: Options) => {
  const error = await read(args, options).catch((error: unknown) => error);
  if (!(error instanceof CadreError)) throw new Error(`not refused: ${String(error)}`);
  return error.body;
};

describe('views', () => {
  test('a slice shows characters, and says where it goes on', async () => {
    const handle = await store('0123456789é😀end');
    expect(await read({ handle, slice: { start: 8, end: 12 } })).toBe('89é😀\n[characters 8 to 12]');
    expect(await read({ handle, slice: { start: -4 } })).toBe('😀end\n[characters 11 to 15 of 15]');
    expect(await read({ handle, slice: {}, max_chars: 3 })).toBe(
      '012\n[characters 0 to 3; more follow: go on with slice {"start": 3}]',
    );
    expect(await read({ handle, slice: { start: 99 } })).toBe('[nothing there: it has 15 characters]');
  });

  test('a range shows lines, and says where it goes on, also within a line', async () => {
    const handle = await store('one\ntwo\nthree\n\nfive');
    expect(await read({ handle, range: { start: 2, end: 3 } })).toBe('two\nthree\n[lines 2 to 3]');
    expect(await read({ handle, range: { start: -2 } })).toBe('\nfive\n[lines 4 to 5]');
    expect(await read({ handle, range: {}, max_chars: 8 })).toBe(
      'one\ntwo\n[lines 1 to 2; more follow: go on with range {"start": 3}]',
    );
    expect(await read({ handle, range: { start: 3 }, max_chars: 3 })).toBe(
      'thr\n[the beginning of line 3, which is longer: go on with slice {"start": 11}]',
    );
    expect(await read({ handle, slice: { start: 11, end: 13 } })).toBe('ee\n[characters 11 to 13]');
    expect(await read({ handle, range: { start: 6 } })).toBe('[nothing there: it has 5 lines]');
  });

  test('counts are of characters, lines, bytes, and the items of JSON', async () => {
    const handle = await store('[1, "é",\n{}]');
    for (const [count, number] of Object.entries({ chars: 12, lines: 2, bytes: 13, items: 3 })) {
      expect(JSON.parse(await read({ handle, count }))).toEqual({ handle, [count]: number });
    }
    const plain = await store('no JSON');
    expect(await refusal({ handle: plain, count: 'items' })).toMatchObject({ code: 'invalid_arguments' });
  });

  test('JSONPath shows what matches, a line each, of JSON and of JSON lines', async () => {
    const names = {
      items: [
        { name: 'a', n: 1 },
        { name: 'b\nc', n: 2 },
      ],
    };
    const handle = await store(`\ufeff${JSON.stringify(names, null, 2)}`);
    expect(await read({ handle, jsonpath: '$.items[*].name' })).toBe('"a"\n"b\\nc"\n[2 matches]');
    expect(await read({ handle, jsonpath: '$.items[?@.n > 1]' })).toBe('{"name":"b\\nc","n":2}\n[1 match]');
    expect(await read({ handle, jsonpath: '$.none' })).toBe('[nothing there: the path matches nothing]');
    const lines = await store('{"n": 1}\n\n{"n": 2}\r\n{"n": 3}');
    expect(await read({ handle: lines, jsonpath: '$[1:].n' })).toBe('2\n3\n[2 matches]');
  });

  test('many matches are cut between two of them, a large one within it', async () => {
    const handle = await store(JSON.stringify(Array.from({ length: 5_000 }, (_, n) => n)));
    expect(await read({ handle, jsonpath: '$[*]', max_chars: 6 })).toBe(
      '0\n1\n2\n[the first 3 of 5000 matches: narrow the path, or slice it as in $.items[10:20]]',
    );
    expect(await read({ handle, jsonpath: '$', max_chars: 5 })).toMatch(
      /^\[0,1,\n\[the beginning of the first of 1 match:/,
    );
  });

  test('introspect tells the kind, the size and the shape', async () => {
    const look = async (content: string | Uint8Array) =>
      JSON.parse(await read({ handle: await store(content), introspect: true }));
    expect(await look('one\ntwo')).toMatchObject({
      kind: 'text',
      bytes: 7,
      characters: 7,
      lines: 2,
      begins: 'one\ntwo',
    });
    expect(await look('{"a": [1, 2], "b": {"c": null}}')).toMatchObject({
      kind: 'json',
      shape: { type: 'object', items: 2, keys: { a: 'array of 2', b: 'object' } },
    });
    expect(await look('[{"id": 1}, {"id": 2}]')).toMatchObject({
      kind: 'json',
      shape: { type: 'array', items: 2, first: { type: 'object', items: 1, keys: { id: 'number' } } },
    });
    expect(await look('{"id": 1}\n{"id": 2}\n')).toMatchObject({
      kind: 'jsonl',
      lines: 2,
      shape: { items: 2 },
    });
    expect(await look('[INFO] no JSON\n[INFO] at all')).toMatchObject({ kind: 'text', lines: 2 });
    expect(await look(Buffer.from('89504e470d0a1a0a0000000d', 'hex'))).toMatchObject({
      kind: 'image/png',
      bytes: 12,
    });
    expect(await look(new Uint8Array(5_000))).toMatchObject({ kind: 'binary', bytes: 5_000 });
    expect(await look('')).toMatchObject({ kind: 'text', bytes: 0, characters: 0, lines: 0 });
  });
});

describe('bounds', () => {
  test('whatever is asked for, the output stays below the limit, and is never cut again', async () => {
    const rows = Array.from({ length: 3_000 }, (_, n) => JSON.stringify({ n, text: '😀"\n'.repeat(9) }));
    const handle = await store(rows.join('\n'));
    const one = await store('é'.repeat(100_000));
    const wide = await store(JSON.stringify(Object.fromEntries(rows.map((row) => [row, 1]))));
    for (const limit of [64, 300, 5_000]) {
      for (const args of [
        { handle, slice: {} },
        { handle, range: {} },
        { handle, jsonpath: '$..*' },
        { handle, introspect: true },
        { handle: one, slice: { start: 5 }, max_chars: 90_000 },
        { handle: one, range: {} },
        { handle: wide, introspect: true },
        { handle: wide, count: 'items' },
      ]) {
        const output = await read(args, { limit });
        expect(Buffer.byteLength(output), JSON.stringify(args)).toBeLessThanOrEqual(limit * 4);
        expect(output).not.toContain('stored as');
      }
    }
  });

  test('exactly one view is given, and nothing else', () => {
    const parse = (args: object) => handleRead.parameters.safeParse({ handle: 'h', ...args });
    expect(parse({}).error?.message).toContain('exactly one of slice, range, count, jsonpath, introspect');
    for (const args of [
      { slice: {}, range: {} },
      { introspect: false },
      { count: 'words' },
      { range: { start: 0 } },
      { slice: { start: 1.5 } },
      { slice: {}, max_chars: 0 },
      { jsonpath: '' },
      { introspect: true, other: 1 },
    ]) {
      expect(parse(args).success, JSON.stringify(args)).toBe(false);
    }
    expect(parse({ range: { end: -1 } }).success).toBe(true);
    expect(parse({ slice: {}, introspect: false }).success).toBe(true);
  });

  test('a gigabyte is read in bounded memory, and the worker goes on meanwhile', async () => {
    const handle = await gigabyte();
    const before = process.memoryUsage().rss;
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    expect(await read({ handle, range: { start: 2, end: 2 } })).toBe('line 2\n[line 2]');
    expect(await read({ handle, count: 'lines' })).toContain('"lines":2001');
    expect(await read({ handle, slice: { start: -3 } })).toContain('of 1073741824]');
    delay.disable();
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 ** 2);
    expect(delay.max / 1e6, 'milliseconds in which nothing else could run').toBeLessThan(2_000);
    expect(await refusal({ handle, jsonpath: '$' })).toMatchObject({
      code: 'tool_failed',
      message: expect.stringContaining('up to 8388608 bytes'),
    });
  });

  test('an interrupt ends the reading', async () => {
    const handle = await gigabyte();
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error('interrupted')), 50);
    await expect(read({ handle, slice: { start: -1 } }, { signal: stop.signal })).rejects.toThrow(
      'interrupted',
    );
  });
});

describe('what cannot be read', () => {
  test('a handle that is gone, or never was one, is refused with what to do', async () => {
    const gone = `h_${'0'.repeat(32)}`;
    expect(await refusal({ handle: gone, introspect: true })).toMatchObject({
      code: 'handle_not_found',
      message: expect.stringContaining(gone),
      hint: expect.stringContaining('again'),
    });
    const handle = await store('text');
    for (const wrong of [handle.slice(0, 20), `${handle}0`, '../../etc/passwd', 'h_', '', `${handle}\n`]) {
      const args = { handle: wrong, introspect: true };
      if (wrong === '') expect(handleRead.parameters.safeParse(args).success).toBe(false);
      else expect(await refusal(args)).toMatchObject({ code: 'invalid_arguments' });
    }
  });

  test('there is no text in binary data', async () => {
    const handle = await store(new Uint8Array(1_000));
    for (const view of [{ slice: {} }, { range: {} }]) {
      expect(await refusal({ handle, ...view })).toMatchObject({
        code: 'tool_failed',
        message: expect.stringContaining('1000 bytes'),
      });
    }
    expect(JSON.parse(await read({ handle, count: 'bytes' }))).toEqual({ handle, bytes: 1_000 });
  });

  test('a wrong path and what is no JSON are told apart', async () => {
    const handle = await store('{"a": 1}');
    for (const jsonpath of [
      'a',
      '$[',
      '$.a b',
      '$[?@.a ==]',
      '$[?nope(@.a)]',
      '$'.repeat(2_000),
      `$${'[?@'.repeat(600)}`,
    ]) {
      const { code, message } = await refusal({ handle, jsonpath });
      expect(code, message).toBe('invalid_arguments');
    }
    expect(await refusal({ handle: await store('plain'), jsonpath: '$' })).toMatchObject({
      code: 'tool_failed',
      message: expect.stringMatching(/^What is stored is no JSON: /),
    });
    expect(await refusal({ handle: await store('{"a": 1}\n{"a": 2}\noops'), jsonpath: '$' })).toMatchObject({
      message: expect.stringContaining('line 3'),
    });
  });

  test('paths that explode, patterns that do not end and deep nesting end with an error, the worker goes on', async () => {
    const tree = (depth: number): unknown =>
      depth === 0 ? 1 : Array.from({ length: 4 }, () => tree(depth - 1));
    const wide = await store(JSON.stringify(tree(9)));
    const slow = await store(JSON.stringify([`${'a'.repeat(40)}!`]));
    const deep = await store('['.repeat(4_000_000) + ']'.repeat(4_000_000));
    const asked: [string, string, RegExp][] = [
      [wide, '$[?count(@..*) > count($..*..*..*)]', /timeout|tool_failed/],
      [wide, `$${'..*'.repeat(12)}[?@ == 7]`, /timeout|tool_failed/],
      [slow, '$[?search(@, "^(a|a|aa|aaa)+$")]', /timeout/],
      [deep, '$..*', /timeout|tool_failed/],
    ];
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    await Promise.all(
      asked.map(async ([handle, jsonpath, expected]) => {
        expect((await refusal({ handle, jsonpath })).code, jsonpath).toMatch(expected);
      }),
    );
    delay.disable();
    expect(delay.max / 1e6, 'milliseconds in which nothing else could run').toBeLessThan(3_000);
    expect((await refusal({ handle: deep, jsonpath: '$[0]' })).hint).toBe('Read it by slice.');
    // More matches than anybody counts are no error.
    expect(await read({ handle: wide, jsonpath: '$..*', max_chars: 10 })).toContain(
      'more than 100000 matches',
    );
  });
});

describe('transcripts', () => {
  const items: Item[] = [
    { type: 'user_message', content: [{ type: 'text', text: 'go' }] },
    { type: 'assistant_message', text: 'gone' },
  ];
  const asked: AgentId[] = [];
  const readTranscript: ReadTranscript = async function* (agent) {
    asked.push(agent);
    if (agent.endsWith('nobody')) throw new CadreError('agent_not_found', 'none');
    yield* items;
  };
  beforeEach(() => void asked.splice(0));
  const root = 'a0k3v9x2m4qd7';

  test('the conversation of an agent of the session is read as lines of items', async () => {
    const handle = `transcript:${root}/worker-1`;
    expect(await read({ handle, range: { start: 2 } }, { readTranscript })).toBe(
      `${JSON.stringify(items[1])}\n[line 2]`,
    );
    expect(
      await read({ handle, jsonpath: '$[?@.type == "user_message"].content[0].text' }, { readTranscript }),
    ).toBe('"go"\n[1 match]');
    expect(JSON.parse(await read({ handle, introspect: true }, { readTranscript }))).toMatchObject({
      kind: 'jsonl',
      lines: 2,
    });
    expect(new Set(asked)).toEqual(new Set([`${root}/worker-1`]));
    await read({ handle: 'transcript:worker-1/explorer-2', count: 'lines' }, { readTranscript });
    expect(asked.at(-1)).toBe(`${root}/worker-1/explorer-2`);
  });

  test('one of an agent that is not there, or of another session, is not found, and that one is not asked', async () => {
    for (const agent of [`${root}/nobody`, 'a0k3v9x2m4qd8', 'a0k3v9x2m4qd8/worker-1', '../x', '']) {
      const args = { handle: `transcript:${agent}`, range: {} };
      expect(await refusal(args, { readTranscript }), agent).toMatchObject({ code: 'handle_not_found' });
    }
    expect(asked).toEqual([`${root}/nobody`]);
  });
});
