import { CadreError } from '../protocol/index.ts';

type Schema = Record<string, unknown>;

const NEWEST = 'https://json-schema.org/draft/2020-12/schema';
const DRAFT_2019 = 'https://json-schema.org/draft/2019-09/schema';
const DRAFT_7 = 'http://json-schema.org/draft-07/schema';

/**
 * The schema that an answer has to follow, read as its `$schema` says, and by JSON Schema 2020-12, or else 2019-09,
 * where that says nothing or something else. What providers make of it is theirs; what is no schema at all they refuse
 * only at the first call.
 *
 * @param where names it in the error
 * @param code of the error: programs give arguments, people options of a command
 * @throws CadreError
 */
export async function checkedSchema(
  schema: unknown,
  where: string,
  code: 'invalid_arguments' | 'usage' = 'invalid_arguments',
): Promise<Schema> {
  const problem = await problemOf(schema);
  if (problem === undefined) return schema as Schema;
  throw new CadreError(code, `${where} is no valid JSON schema: ${problem}.`, {
    hint: 'Name one by the rules of https://json-schema.org, such as {"type": "object", "properties": {…}}.',
  });
}

async function problemOf(given: unknown): Promise<string | undefined> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return 'a JSON schema is an object';
  }
  let schema: Schema;
  try {
    // As it will be read: a program may give what JSON leaves out, or cannot say.
    schema = JSON.parse(JSON.stringify(given));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const problems: string[] = [];
  for (const dialect of dialectsOf(schema)) {
    const problem = await problemIn(dialect, schema);
    if (problem === undefined) return undefined;
    problems.push(problem);
  }
  return problems[0];
}

async function problemIn(dialect: string, schema: Schema): Promise<string | undefined> {
  // Few sessions have such a schema: it would be a part of every start.
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/server/validators/ajv');
  const validator = new AjvJsonSchemaValidator();
  const { $schema: declared = dialect } = schema;
  const named = { ...schema, $schema: typeof declared === 'string' ? dialect : declared };
  const isDraft4 = nameOf(declared).endsWith('/draft-04/schema');
  const readable = without(
    named,
    (key, value) => isLooserPattern(key, value) || (isDraft4 && isFlag(key, value)),
  );
  try {
    const { errorMessage } = validator.getValidator({ $schema: dialect, $ref: dialect })(readable);
    // The others follow from it.
    const [first] = errorMessage?.split(', data') ?? [];
    if (first !== undefined) return first.replace(/^data\/?/, '');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  try {
    // References that lead nowhere come out when it is put to use.
    validator.getValidator(without(readable, isNotInUse));
    return undefined;
  } catch (error) {
    // What else the validator does not take may be a schema all the same.
    return error instanceof Error && 'missingRef' in error ? error.message : undefined;
  }
}

/** One that does not say by which it is written may be by an older one, in which `items` may be a list. */
function dialectsOf({ $schema }: Schema): string[] {
  const declared = nameOf($schema);
  if (declared === NEWEST) return [NEWEST];
  if (declared === DRAFT_2019) return [DRAFT_2019];
  return /^https?:\/\/json-schema\.org\/draft-0[467]\/schema$/.test(declared)
    ? [DRAFT_7]
    : [NEWEST, DRAFT_2019];
}

function nameOf($schema: unknown): string {
  return String($schema).replace(/#$/, '');
}

function without(schema: Schema, isLeftOut: (key: string, value: unknown) => boolean): Schema {
  const text = JSON.stringify(schema, (key, value) => (isLeftOut(key, value) ? undefined : value));
  return JSON.parse(text);
}

/**
 * Formats of somebody's own are allowed, and the validator would print a line for each; these others are names that it
 * has a meaning for, and JSON Schema has not.
 */
function isNotInUse(key: string, value: unknown): boolean {
  return (key === 'format' && typeof value === 'string') || (OTHERS.has(key) && typeof value !== 'object');
}
const OTHERS = new Set(['id', 'nullable']);

/** In draft 4 these say of `minimum` and `maximum` whether they are in it. */
function isFlag(key: string, value: unknown): boolean {
  return (key === 'exclusiveMinimum' || key === 'exclusiveMaximum') && typeof value === 'boolean';
}

/**
 * One such as `\_`, that a regular expression may have where it is not read as Unicode, or of another language, as
 * `(?i)`; the validator takes neither.
 */
function isLooserPattern(key: string, value: unknown): boolean {
  if (key !== 'pattern' || typeof value !== 'string' || isPattern(value, 'u')) return false;
  return isPattern(value, '') || /\(\?(?![:=!]|<[=!\p{L}_$])/u.test(value);
}

function isPattern(value: string, flags: string): boolean {
  try {
    new RegExp(value, flags);
    return true;
  } catch {
    return false;
  }
}
