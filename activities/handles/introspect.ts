import { CadreError } from '../../protocol/index.ts';
import { imageType } from '../model/providers/image-shape.ts';
import { isBinary } from '../tools/text-lines.ts';
import { withNulShown } from '../with-nul-shown.ts';
import { askJson, JSON_BYTES_MAX } from './ask-json.ts';
import { countCharacters, countLines, fitting } from './characters.ts';
import { type HandleContent, startOf } from './handle-content.ts';
import type { JsonForm } from './json-task.ts';

const LOOKED_AT = 8_192;
const SHOWN = { characters: 200, bytes: 800 };
const BINARY_SHOWN = 32;

/** What lies behind a handle: its kind and size, and what it begins with or is made of. */
export interface Introspection {
  kind: string;
  bytes: number;
  characters?: number;
  lines?: number;
  /** The beginning of a text; of anything else its first bytes, as hexadecimal digits. */
  begins?: string;
  shape?: JsonForm['shape'];
}

export async function introspect(content: HandleContent, signal: AbortSignal): Promise<Introspection> {
  const start = await startOf(content, LOOKED_AT, signal);
  const bytes = content.size;
  const image = imageType(start);
  if (image !== undefined || isBinary(start)) {
    return { kind: image ?? 'binary', bytes, begins: start.subarray(0, BINARY_SHOWN).toString('hex') };
  }
  const json = await formOf(content, start, signal);
  return {
    kind: json?.form ?? 'text',
    bytes,
    characters: await countCharacters(content, signal),
    lines: await countLines(content, signal),
    ...(json === undefined
      ? { begins: fitting(withNulShown(start.toString()), SHOWN) }
      : { shape: json.shape }),
  };
}

/** Undefined for what is no JSON, or too much of it to find out. */
async function formOf(
  content: HandleContent,
  start: Buffer,
  signal: AbortSignal,
): Promise<JsonForm | undefined> {
  const mayBe = /^\ufeff?\s*[[{"\-\dtfn]/.test(start.toString());
  if (!(mayBe || content.isJsonLines) || content.size > JSON_BYTES_MAX) return undefined;
  const answer = await askJson(content, { do: 'shape' }, signal);
  return 'form' in answer ? answer : undefined;
}

/**
 * How many values JSON has at its top: of an array, an object or lines.
 *
 * @throws CadreError for what is no JSON
 */
export async function countItems(content: HandleContent, signal: AbortSignal): Promise<number> {
  const answer = await askJson(content, { do: 'shape' }, signal);
  if ('form' in answer && 'items' in answer.shape) return answer.shape.items;
  const why = 'problem' in answer ? answer.message : 'it is a single value';
  throw new CadreError('invalid_arguments', `There are no items to count: ${why}.`, {
    hint: 'Count its chars, lines or bytes.',
  });
}
