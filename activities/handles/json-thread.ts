/** A thread of its own for JSON that others have written: it may be ended at any time, and takes no more than it is given. */
import { parentPort, workerData } from 'node:worker_threads';
import { JSONPathEnvironment, JSONPathError, type JSONPathQuery, type JSONValue } from 'json-p3';
import type { JsonAnswer, JsonShape, JsonTask } from './json-task.ts';

/** More matches are not counted. */
const MOST_COUNTED = 100_000;
const MOST_DEPTH = 200;
const KEYS_SHOWN = 20;
const KEY_SHOWN = 100;
const DEPTH_SHOWN = 3;

class Problem extends Error {
  readonly answer: JsonAnswer;
  constructor(problem: 'not_json' | 'path' | 'too_deep', message: string) {
    super(message);
    this.answer = { problem, message };
  }
}

const { bytes, task } = workerData as { bytes: Uint8Array; task: JsonTask };
parentPort?.postMessage(answer());

function answer(): JsonAnswer {
  try {
    // A path that is wrong is told of before anything is parsed.
    const query = task.do === 'query' ? compiled(task.path) : undefined;
    const { form, value } = parsed(new TextDecoder().decode(bytes));
    if (query !== undefined && task.do === 'query') return matches(query, value, task.most);
    return { form, shape: shapeOf(value, DEPTH_SHOWN) };
  } catch (error) {
    if (error instanceof Problem) return error.answer;
    if (error instanceof RangeError) return { problem: 'too_deep', message: 'it is nested too deeply' };
    if (error instanceof JSONPathError) return { problem: 'too_deep', message: error.message };
    throw error;
  }
}

function compiled(path: string): JSONPathQuery {
  try {
    return new JSONPathEnvironment({ maxRecursionDepth: MOST_DEPTH }).compile(path);
  } catch (error) {
    if (error instanceof RangeError) throw new Problem('path', 'it is nested too deeply');
    throw new Problem('path', (error as Error).message);
  }
}

/** One value, or else the values of the lines, as one array. */
function parsed(text: string): { form: 'json' | 'jsonl'; value: JSONValue } {
  if (!task.isJsonLines) {
    try {
      return { form: 'json', value: JSON.parse(text) };
    } catch (error) {
      if (!startsAsJsonLines(text)) throw new Problem('not_json', (error as Error).message);
    }
  }
  const values: JSONValue[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      values.push(JSON.parse(line));
    } catch (error) {
      throw new Problem('not_json', `line ${index + 1}: ${(error as Error).message}`);
    }
  }
  return { form: 'jsonl', value: values };
}

function startsAsJsonLines(text: string): boolean {
  const [first = '', ...rest] = text.split('\n', 1_000).filter((line) => line.trim() !== '');
  if (rest.length === 0) return false;
  try {
    const value = JSON.parse(first);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}

function matches(query: JSONPathQuery, value: JSONValue, most: number): JsonAnswer {
  const lines: string[] = [];
  let size = 0;
  let count = 0;
  for (const node of query.lazyQuery(value)) {
    if (count === MOST_COUNTED) return { lines, matches: count, isCounted: false };
    count++;
    if (size > most) continue;
    const line = JSON.stringify(node.value).slice(0, most + 1);
    lines.push(line);
    size += line.length + 1;
  }
  return { lines, matches: count, isCounted: true };
}

function shapeOf(value: JSONValue, depth: number): JsonShape {
  if (value === null) return { type: 'null' };
  if (Array.isArray(value)) {
    const isShown = value.length > 0 && depth > 1;
    return {
      type: 'array',
      items: value.length,
      ...(isShown ? { first: shapeOf(value[0] as JSONValue, depth - 1) } : {}),
    };
  }
  if (typeof value !== 'object') return { type: typeof value as 'string' | 'number' | 'boolean' };
  const keys = Object.keys(value);
  const shown = keys.slice(0, KEYS_SHOWN).map((key) => [key.slice(0, KEY_SHOWN), typeOf(value[key])]);
  return { type: 'object', keys: Object.fromEntries(shown), items: keys.length };
}

function typeOf(value: JSONValue | undefined): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? `array of ${value.length}` : typeof value;
}
