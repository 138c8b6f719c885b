import { readFileSync } from 'node:fs';
import { CadreError } from '../../protocol/errors.ts';
import { counted, type KeyRing } from '../../protocol/index.ts';
import type { Environment } from './environment.ts';
import type { Config } from './schema.ts';

type Encryption = NonNullable<Config['encryption']>;

const KEY_BYTES = 32;
/** Of the only key, where nobody has given it a name. */
const UNNAMED = 'default';
const KEY_ID = /^[\w.-]{1,64}$/;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const MAKE_ONE = 'A key is 32 random bytes in base64: openssl rand -base64 32';

/**
 * The keys that `[encryption]` names; undefined without it. Each is `ID:BASE64`, apart from each other by line ends,
 * blanks or commas; `#` starts a comment. A single key needs no id.
 *
 * @throws CadreError `config_invalid` that names the key and where it was looked for, and never shows one
 */
export function loadKeys(encryption: Config['encryption'], environment: Environment): KeyRing | undefined {
  if (encryption === undefined) return undefined;
  const place = placeOf(encryption, environment);
  const keys = parseKeys(place.text, place.where, encryption.key_id);
  return { current: currentOf(keys, place.where, encryption.key_id), keys };
}

interface Place {
  text: string;
  where: string;
}

function placeOf({ key_env, key_file, key_id }: Encryption, environment: Environment): Place {
  const wanted = key_id === undefined ? 'the key' : `the key ${key_id}`;
  if (key_env !== undefined && key_file !== undefined) {
    throw invalid(
      `encryption names two places for ${wanted}: key_env and key_file`,
      'Leave one of them out.',
    );
  }
  if (key_env !== undefined) {
    const text = environment[key_env];
    const where = `the environment variable ${key_env} (encryption.key_env)`;
    if (text === undefined || text.trim() === '')
      throw invalid(`${where}, which holds ${wanted}, is not set`);
    return { text, where };
  }
  if (key_file !== undefined) {
    const where = `${key_file} (encryption.key_file)`;
    try {
      return { text: readFileSync(key_file, 'utf8'), where };
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      const reason = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code ?? error})`;
      throw invalid(`${where}, which holds ${wanted}: ${reason}`);
    }
  }
  throw invalid(
    `encryption says nowhere where ${wanted} is`,
    'Set key_env to the name of an environment variable, or key_file to a file.',
  );
}

function parseKeys(text: string, where: string, wanted: string | undefined): Map<string, Uint8Array> {
  const entries = text
    .replaceAll(/#.*$/gm, '')
    .split(/[\s,]+/)
    .filter((entry) => entry !== '');
  if (entries.length === 0) throw invalid(`${where} holds no key${wanted === undefined ? '' : ` ${wanted}`}`);
  const keys = new Map<string, Uint8Array>();
  for (const [index, entry] of entries.entries()) {
    const colon = entry.indexOf(':');
    const nth = `number ${index + 1} of ${entries.length}`;
    if (colon < 0 && entries.length > 1) {
      throw invalid(`${where} holds several keys, and ${nth} has no id`, 'Write each as ID:BASE64.');
    }
    const id = colon < 0 ? (wanted ?? UNNAMED) : entry.slice(0, colon);
    // It may well be the key itself that stands there: it is not repeated.
    if (!KEY_ID.test(id)) {
      throw invalid(
        `${where}: the id of the key ${nth} is not one`,
        'Letters, digits, dots, - and _; at most 64.',
      );
    }
    if (keys.has(id)) throw invalid(`${where} holds two keys ${id}`, 'Give each an id of its own.');
    keys.set(id, keyOf(entry.slice(colon + 1), id, where));
  }
  return keys;
}

function keyOf(text: string, id: string, where: string): Uint8Array {
  if (!BASE64.test(text)) throw invalid(`the key ${id} in ${where} is no base64`);
  const key = Buffer.from(text, 'base64');
  if (key.length === KEY_BYTES) return key;
  throw invalid(`the key ${id} in ${where} has ${counted(key.length, 'byte')}, not ${KEY_BYTES}`);
}

function currentOf(keys: ReadonlyMap<string, unknown>, where: string, wanted: string | undefined): string {
  const ids = [...keys.keys()];
  const [only = '', ...others] = ids;
  if (wanted === undefined) {
    if (others.length === 0) return only;
    throw invalid(
      `${where} holds several keys (${ids.join(', ')})`,
      'Say with encryption.key_id which one is to seal.',
    );
  }
  if (keys.has(wanted)) return wanted;
  throw invalid(
    `the key ${wanted} (encryption.key_id) is not in ${where}, which holds ${ids.join(', ')}`,
    'Add it there, or name one of those.',
  );
}

function invalid(problem: string, hint = MAKE_ONE): CadreError {
  return new CadreError('config_invalid', `Encryption: ${problem}.`, { hint });
}
