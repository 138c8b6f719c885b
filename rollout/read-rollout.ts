import {
  CadreError,
  explain,
  type KeyRing,
  ROLLOUT_FORMAT,
  type RolloutBody,
  type RolloutEnd,
  type RolloutHeader,
  rolloutHeaderSchema,
  rolloutLineSchemas,
} from '../protocol/index.ts';
import { type FileLine, readLines } from './lines.ts';
import { problemIn, rolloutProblem } from './problem.ts';
import { openLine } from './seal.ts';
import { Structure } from './structure.ts';

/** A line that is what it has to be, as it was written, whether it is sealed or not. */
export interface ReadLine {
  number: number;
  /** Where it begins in the file. */
  offset: number;
  text: string;
  line: RolloutHeader | RolloutBody | RolloutEnd;
}

/**
 * Reads a rollout from its header to its end, and checks each line and how they stand together.
 *
 * @throws CadreError `rollout_invalid` with the line and the reason, `key_missing` for what is sealed with a key that is
 * not here, or the error of the file system
 */
export async function* readRollout(path: string, keys: KeyRing | undefined): AsyncGenerator<ReadLine> {
  try {
    yield* checkedLines(path, keys);
  } catch (error) {
    throw problemIn(path, error);
  }
}

async function* checkedLines(path: string, keys: KeyRing | undefined): AsyncGenerator<ReadLine> {
  let structure: Structure | undefined;
  let sealed = false;
  let last = 0;
  for await (const { number, offset, text: raw } of readLines(path)) {
    last = number;
    if (structure === undefined) {
      const header = parseHeader(raw);
      sealed = header.sealed === true;
      structure = new Structure(header);
      yield { number, offset, text: JSON.stringify(unsealed(header)), line: header };
      continue;
    }
    const text = sealed ? await openLine(raw, number, keys) : raw;
    const line = parseLine(text, number);
    structure.take(line, text, number);
    yield { number, offset, text, line };
  }
  if (structure === undefined) throw rolloutProblem(1, 'the file is empty');
  if (!structure.isWhole) throw rolloutProblem(last, 'the file ends here, and has no end: it was cut off');
}

/** Lines from somewhere in a rollout that was checked before. */
export async function* rereadLines(
  path: string,
  { offset, number }: Pick<FileLine, 'offset' | 'number'>,
  sealed: boolean,
  keys: KeyRing | undefined,
): AsyncGenerator<ReadLine> {
  for await (const each of readLines(path, offset, number)) {
    const text = sealed ? await openLine(each.text, each.number, keys) : each.text;
    yield { number: each.number, offset: each.offset, text, line: JSON.parse(text) as RolloutBody };
  }
}

/** The header without how it is kept here. */
export function unsealed({ sealed: _, ...header }: RolloutHeader): RolloutHeader {
  return header as RolloutHeader;
}

function parseHeader(raw: string): RolloutHeader {
  const value = parseJson(raw.replace(/^\ufeff/, ''), 1, 'no JSON, so this is no rollout of Cadre');
  const { type, format } = value as { type?: unknown; format?: unknown };
  if (type === 'archive') {
    throw rolloutProblem(1, 'this is the archive of a sub-agent, made to be read; it cannot be imported');
  }
  if (type !== 'rollout') throw rolloutProblem(1, 'it is no header, so this is no rollout of Cadre');
  if (typeof format === 'number' && format > ROLLOUT_FORMAT) {
    throw new CadreError(
      'rollout_invalid',
      `line 1: it has format ${format}, and this version of Cadre reads formats up to ${ROLLOUT_FORMAT}`,
      { hint: 'Install a newer version of Cadre, such as the one that wrote it.' },
    );
  }
  const parsed = rolloutHeaderSchema.safeParse(value);
  if (!parsed.success) throw rolloutProblem(1, explain(parsed.error));
  return value as RolloutHeader;
}

function parseLine(text: string, number: number): RolloutBody | RolloutEnd {
  const value = parseJson(text, number, 'it is no JSON');
  const { type } = value as { type?: unknown };
  const schema = Object.entries(rolloutLineSchemas).find(([name]) => name === type)?.[1];
  if (schema === undefined) {
    throw rolloutProblem(number, `a line of the type ${JSON.stringify(type) ?? 'undefined'} is not known`);
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw rolloutProblem(number, `${String(type)}: ${explain(parsed.error)}`);
  // As it was written: the digests heed the order of fields.
  return value as RolloutBody | RolloutEnd;
}

function parseJson(text: string, number: number, problem: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw rolloutProblem(number, problem);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw rolloutProblem(number, problem);
}
