import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import { CadreError } from '../../protocol/index.ts';
import type { HandleContent } from './handle-content.ts';
import type { JsonAnswer, JsonQuestion, JsonTask } from './json-task.ts';

/** JSON of more bytes is not parsed: what is made of it in memory may be 30 times as large. */
export const JSON_BYTES_MAX = 8 * 1024 * 1024;
const TIME_MS = 10_000;
const HEAP_MB = 640;
/** Each thread may take its share of the worker's memory. */
const AT_ONCE = 2;

const THREAD = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './json-thread.ts' : './json-thread.js', import.meta.url),
);
const limited = pLimit(AT_ONCE);

/**
 * Parses JSON and looks into it, in a thread of its own: however it is nested and whatever the path asks for, the
 * worker's own thread goes on meanwhile, and the time and the memory that it takes are bounded.
 *
 * @throws CadreError `timeout`, or `tool_failed` for what is too large, or takes too much memory
 */
export async function askJson(
  content: HandleContent,
  question: JsonQuestion,
  signal: AbortSignal,
): Promise<JsonAnswer> {
  if (content.size > JSON_BYTES_MAX) {
    throw new CadreError(
      'tool_failed',
      `It has ${content.size} bytes; JSON is looked into up to ${JSON_BYTES_MAX} bytes.`,
      { hint: 'Read parts of it by slice or range.' },
    );
  }
  const bytes = await wholeOf(content, signal);
  const task: JsonTask = { ...question, isJsonLines: content.isJsonLines === true };
  return limited(() => inThread(bytes, task, signal));
}

async function wholeOf(content: HandleContent, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(content.size);
  let at = 0;
  for await (const chunk of content.chunks(signal)) {
    const fits = chunk.subarray(0, whole.length - at);
    whole.set(fits, at);
    at += fits.length;
  }
  return whole;
}

async function inThread(
  bytes: Uint8Array<ArrayBuffer>,
  task: JsonTask,
  signal: AbortSignal,
): Promise<JsonAnswer> {
  signal.throwIfAborted();
  const thread = new Worker(THREAD, {
    workerData: { bytes, task },
    transferList: [bytes.buffer],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    env: {},
    execArgv: [],
  });
  const watch = new AbortController();
  const time = setTimeout(() => watch.abort(slow()), TIME_MS);
  const end = () => watch.abort(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await new Promise<JsonAnswer>((resolve, reject) => {
      thread.once('message', resolve);
      thread.once('error', (error) => reject(failed(error)));
      thread.once('exit', () => reject(failed(new Error('the thread has ended'))));
      watch.signal.addEventListener('abort', () => reject(watch.signal.reason), { once: true });
    });
  } finally {
    clearTimeout(time);
    signal.removeEventListener('abort', end);
    await thread.terminate();
  }
}

const SIMPLER = 'Ask for less: a longer path without "..", fewer filters and wildcards, no nested patterns.';

function slow(): CadreError {
  return new CadreError('timeout', `The JSON was looked into for ${TIME_MS / 1_000} s without an end.`, {
    hint: SIMPLER,
  });
}

function failed(error: Error): CadreError {
  const code = (error as NodeJS.ErrnoException).code;
  const message =
    code === 'ERR_WORKER_OUT_OF_MEMORY'
      ? `To look into the JSON took more memory than there is for it (${HEAP_MB} MB).`
      : `The JSON could not be looked into: ${error.message}`;
  return new CadreError('tool_failed', message, { hint: SIMPLER, cause: error });
}
