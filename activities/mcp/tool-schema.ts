type Json = Record<string, unknown>;

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
/** What no model makes sense of any more, and each call would carry. */
const MOST_BYTES = 64 * 1024;
const MOST_DEPTH = 50;
/** Providers refuse every call that offers a tool whose schema has one of these at its top. */
const NOT_AT_TOP = ['oneOf', 'anyOf', 'allOf', 'not', 'enum', 'if', 'then', 'else'] as const;
const TABLES = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'] as const;
const LISTS = ['oneOf', 'anyOf', 'allOf', 'prefixItems'] as const;
const ONES = [
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
] as const;

export interface FittedSchema {
  schema: Json;
  /** What arguments have to follow besides, which no provider takes in a schema. */
  besides?: string;
}

/**
 * The schema of a tool's arguments as providers take it, otherwise the server's own.
 *
 * @throws Error that says what is wrong with it
 */
export function fittedSchema(given: unknown): FittedSchema {
  if (!isObject(given)) throw new Error('it is no object');
  const bytes = Buffer.byteLength(JSON.stringify(given));
  if (bytes > MOST_BYTES) throw new Error(`it has ${bytes} bytes; ${MOST_BYTES} at most`);
  if (given.type !== undefined && given.type !== 'object') throw new Error('its type is not "object"');
  const seen: Seen = { referring: [], anchors: new Map() };
  const root = fitted(given, '', 0, seen);
  for (const { schema } of seen.referring) schema.$ref = pointerOf(schema.$ref, given.$id, seen.anchors);
  const { $schema: _, ...whole } = root;
  const taken: Json = {};
  for (const key of NOT_AT_TOP) {
    if (!(key in whole)) continue;
    taken[key] = whole[key];
    delete whole[key];
  }
  const schema = { ...whole, type: 'object', properties: whole.properties ?? {} };
  for (const { at, schema: one } of seen.referring) {
    // What is told beside the schema is a text to providers.
    if (!isTaken(at)) checkReference(one.$ref, schema);
  }
  return Object.keys(taken).length === 0 ? { schema } : { schema, besides: JSON.stringify(taken) };
}

interface Seen {
  referring: { at: string; schema: Json & { $ref: string } }[];
  /** Where those parts stand that have names. */
  anchors: Map<string, string>;
}

function isTaken(at: string): boolean {
  return NOT_AT_TOP.some((key) => at.startsWith(`/${key}/`) || at === `/${key}`);
}

/** @param seen gets whatever refers, and can be referred to by a name */
function fitted(schema: Json, at: string, depth: number, seen: Seen): Json {
  if (depth > MOST_DEPTH) throw new Error(`it is nested more than ${MOST_DEPTH} deep`);
  const where = at === '' ? '' : ` at ${at}`;
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.some((type) => typeof type !== 'string' || !TYPES.has(type))) {
    throw new Error(`it has no type of JSON schema${where}: ${JSON.stringify(schema.type).slice(0, 80)}`);
  }
  const { required, enum: values, $ref: reference } = schema;
  if (reference !== undefined && typeof reference !== 'string') {
    throw new Error(`its "$ref" is no text${where}`);
  }
  if (
    required !== undefined &&
    !(Array.isArray(required) && required.every((key) => typeof key === 'string'))
  ) {
    throw new Error(`its "required" is no list of names${where}`);
  }
  if (values !== undefined && !Array.isArray(values)) throw new Error(`its "enum" is no list${where}`);
  const result: Json = { ...schema };
  if (typeof reference === 'string') seen.referring.push({ at, schema: result as Json & { $ref: string } });
  const anchor = anchorOf(schema);
  if (anchor !== undefined) seen.anchors.set(anchor, at);
  const inner = (value: unknown, path: string): unknown => {
    if (typeof value === 'boolean') return value;
    if (!isObject(value)) throw new Error(`there is no schema at ${path}`);
    return fitted(value, path, depth + 1, seen);
  };
  for (const key of TABLES) {
    const table = schema[key];
    if (table === undefined) continue;
    if (!isObject(table)) throw new Error(`its "${key}" is no object${where}`);
    result[key] = Object.fromEntries(
      Object.entries(table).map(([name, value]) => [name, inner(value, `${at}/${key}/${escaped(name)}`)]),
    );
  }
  for (const key of LISTS) {
    const list = schema[key];
    if (list === undefined) continue;
    if (!Array.isArray(list)) throw new Error(`its "${key}" is no list${where}`);
    result[key] = list.map((value, index) => inner(value, `${at}/${key}/${index}`));
  }
  for (const key of ONES) {
    const value = schema[key];
    if (value === undefined) continue;
    // An old way to write prefixItems.
    result[key] = Array.isArray(value)
      ? value.map((one, index) => inner(one, `${at}/${key}/${index}`))
      : inner(value, `${at}/${key}`);
  }
  // Some providers refuse lists that do not say of what.
  if (types.includes('array') && !('items' in result) && !('prefixItems' in result)) result.items = {};
  return result;
}

/** The older drafts have no key of its own for it. */
function anchorOf({ $anchor, $id }: Json): string | undefined {
  if (typeof $anchor === 'string') return $anchor;
  return typeof $id === 'string' && $id.startsWith('#') ? $id.slice(1) : undefined;
}

/** The same reference as a path from the schema's top, which is all that some providers follow. */
function pointerOf(reference: string, id: unknown, anchors: ReadonlyMap<string, string>): string {
  const [base = '', ...fragment] = reference.split('#');
  const isOwn = typeof id === 'string' && base === id.replace(/#$/, '');
  const local = isOwn ? `#${fragment.join('#')}` : reference;
  const at = local.startsWith('#') ? anchors.get(local.slice(1)) : undefined;
  return at === undefined ? local : `#${encodeURI(at)}`;
}

/** Providers refuse the whole call for a reference that leads nowhere, elsewhere, or round in a circle. */
function checkReference(reference: string, schema: Json): void {
  const passed = new Set<string>();
  for (let at: string | undefined = reference; at !== undefined && at !== '#'; ) {
    const shown = JSON.stringify(at.slice(0, 80));
    if (passed.has(at)) throw new Error(`${shown} refers to itself`);
    passed.add(at);
    if (!at.startsWith('#/')) throw new Error(`it refers to what does not stand in it: ${shown}`);
    const found = pointedAt(schema, at.slice(2).split('/'));
    if (!isObject(found) && typeof found !== 'boolean')
      throw new Error(`it refers to what is not there: ${shown}`);
    at = isObject(found) && typeof found.$ref === 'string' ? found.$ref : undefined;
  }
}

function pointedAt(schema: Json, keys: readonly string[]): unknown {
  let at: unknown = schema;
  for (const key of keys) {
    const name = unescaped(key).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Json)[name];
  }
  return at;
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
