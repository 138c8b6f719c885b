import { CadreError } from '../protocol/index.ts';

type Schema = Record<string, unknown>;

const NEWEST = 'https://json-schema.org/draft/2020-12/schema';
const DRAFT_2019 = 'https://json-schema.org/draft/2019-09/schema';
const DRAFT_7 = 'http://json-schema.org/draft-07/schema';

/**
 * The schema that an answer has to follow, read as its `$schema` says, and by JSON Schema 2020-12 where that says nothing
 * or something else. What providers make of it is theirs; what is no schema at all they refuse only at the first call.
 *
 * @param where names it in the error
 * @throws CadreError `usage`
 */
export async function checkedSchema(schema: unknown, where: string): Promise<Schema> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw invalid(where, 'a JSON schema is an object');
  }
  const problem = await problemOf(schema as Schema);
  if (problem !== undefined) throw invalid(where, problem);
  return schema as Schema;
}

async function problemOf(schema: Schema): Promise<string | undefined> {
  // Few sessions have such a schema: it would be a part of every start.
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/server/validators/ajv');
  const validator = new AjvJsonSchemaValidator();
  const dialect = dialectOf(schema);
  const named = typeof schema.$schema === 'string' ? { ...schema, $schema: dialect } : schema;
  try {
    const readable = without(named, isLooserPattern);
    const { errorMessage } = validator.getValidator({ $schema: dialect, $ref: dialect })(readable);
    // The others follow from it.
    const [first] = errorMessage?.split(', data') ?? [];
    if (first !== undefined) return first.replace(/^data\/?/, '');
    // References that lead nowhere come out when it is put to use.
    validator.getValidator(without(readable, isFormat));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function dialectOf({ $schema }: Schema): string {
  const declared = String($schema).replace(/#$/, '');
  if (declared === DRAFT_2019) return DRAFT_2019;
  return /^https?:\/\/json-schema\.org\/draft-0[67]\/schema$/.test(declared) ? DRAFT_7 : NEWEST;
}

function without(schema: Schema, isLeftOut: (key: string, value: unknown) => boolean): Schema {
  const text = JSON.stringify(schema, (key, value) => (isLeftOut(key, value) ? undefined : value));
  return JSON.parse(text);
}

/** Formats of somebody's own are allowed, and the validator would print a line for each. */
function isFormat(key: string, value: unknown): boolean {
  return key === 'format' && typeof value === 'string';
}

/** One such as `\_`, that a regular expression may have where it is not read as Unicode; the validator takes no other. */
function isLooserPattern(key: string, value: unknown): boolean {
  return key === 'pattern' && typeof value === 'string' && !isPattern(value, 'u') && isPattern(value, '');
}

function isPattern(value: string, flags: string): boolean {
  try {
    new RegExp(value, flags);
    return true;
  } catch {
    return false;
  }
}

function invalid(where: string, reason: string): CadreError {
  return new CadreError('usage', `${where} is no valid JSON schema: ${reason}.`, {
    hint: 'Name one by the rules of https://json-schema.org, such as {"type": "object", "properties": {…}}.',
  });
}
