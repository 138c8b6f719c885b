import { type Client, type Connection, isGrpcServiceError } from '@temporalio/client';
import proto from '@temporalio/proto';
import { CadreError, SEARCH_ATTRIBUTES } from '../protocol/index.ts';
import { translate } from './errors.ts';

const { IndexedValueType } = proto.temporal.api.enums.v1;
const TYPES = {
  KEYWORD: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  INT: IndexedValueType.INDEXED_VALUE_TYPE_INT,
} as const;
const names = Object.keys(SEARCH_ATTRIBUTES) as (keyof typeof SEARCH_ATTRIBUTES)[];

const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;
/** Temporal Cloud, and clusters that keep their operator service to themselves. */
const MAY_NOT_ASK = new Set([PERMISSION_DENIED, UNIMPLEMENTED]);

/**
 * Which of Cadre's search attributes the namespace knows. An upsert of another one would fail an agent's workflow
 * task for ever, so whoever may not ask gets none.
 *
 * @throws CadreError `config_invalid` when there is no such namespace, `temporal_unreachable`
 */
export async function knownSearchAttributes(connection: Connection, namespace: string): Promise<string[]> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return names.filter((name) => customAttributes?.[name] === TYPES[SEARCH_ATTRIBUTES[name]]);
  } catch (error) {
    if (isGrpcServiceError(error) && MAY_NOT_ASK.has(error.code)) return [];
    throw translate(error);
  }
}

/** The same of the namespace that a client works in, now: what has gone since an agent began would keep it from starting. */
export function searchAttributesNow({ connection, options }: Client): Promise<string[]> {
  return knownSearchAttributes(connection as Connection, options.namespace);
}

/**
 * Registers what the namespace does not know yet.
 *
 * @returns the names that were added
 * @throws CadreError `not_permitted` when the cluster refuses, `config_invalid` when there is no such namespace,
 * `temporal_unreachable`
 */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<string[]> {
  const known = await knownSearchAttributes(connection, namespace);
  const missing = names.filter((name) => !known.includes(name));
  if (missing.length === 0) return [];
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, TYPES[SEARCH_ATTRIBUTES[name]]])),
    });
    return missing;
  } catch (error) {
    const translated = translate(error);
    const code = isGrpcServiceError(error) ? error.code : undefined;
    if (code !== UNIMPLEMENTED && translated.code !== 'internal') throw translated;
    const reason = error instanceof Error ? error.message : String(error);
    throw new CadreError(
      'not_permitted',
      `The search attributes could not be registered in ${namespace}: ${reason}`,
      { hint: hintFor(namespace, missing), cause: error },
    );
  }
}

function hintFor(namespace: string, missing: typeof names): string {
  const typed = missing.map((name) => [name, SEARCH_ATTRIBUTES[name] === 'INT' ? 'Int' : 'Keyword']);
  const flags = typed.map(([name, type]) => `--name ${name} --type ${type}`).join(' ');
  const cloudFlags = typed.map(([name, type]) => `--sa "${name}=${type}"`).join(' ');
  return [
    'Everything works without them but the filters. An administrator adds them with:',
    `temporal operator search-attribute create --namespace ${namespace} ${flags}`,
    '- in Temporal Cloud with:',
    `tcld namespace search-attributes add --namespace ${namespace} ${cloudFlags}`,
  ].join(' ');
}
