import { statSync } from 'node:fs';
import { counted, type KeyRing, keyIds, missingKeyHint } from '../protocol/index.ts';
import { loadKeys } from './config/encryption.ts';
import type { Environment } from './config/environment.ts';
import type { Config } from './config/schema.ts';
import type { Finding } from './finding.ts';

/** A session, and the keys that it is known to be sealed with. */
export interface Sealed {
  session: string;
  keys: readonly string[];
  /** What it holds was tried to be read with the keys that are here, and could not be. */
  isUnread?: boolean;
}

const WHAT = 'encryption';
/** Whatever a group or all others may do with a file. */
const OTHERS = 0o077;
const SHOWN = 5;

/**
 * Whether the keys that `[encryption]` names can be read, and by whom else.
 *
 * @throws CadreError `config_invalid` for keys that are not where they should be
 */
export function keyFinding(encryption: Config['encryption'], environment: Environment): Finding {
  const keys = loadKeys(encryption, environment);
  if (keys === undefined) return { what: WHAT, state: 'ok', detail: 'not configured: Temporal can read all' };
  const { key_file: file, key_env: variable } = encryption ?? {};
  const others = keyIds(keys).filter((id) => id !== keys.current);
  const reads = others.length === 0 ? '' : `; ${others.join(', ')} only to read`;
  const detail = `seals with the key ${keys.current}${reads}, from ${file ?? variable}`;
  const mode = file === undefined ? 0 : statSync(file).mode & 0o777;
  if ((mode & OTHERS) === 0) return { what: WHAT, state: 'ok', detail };
  return {
    what: WHAT,
    state: 'warn',
    detail: `${detail}, which others than its owner may open (mode ${mode.toString(8)})`,
    hint: `chmod 600 ${file}`,
  };
}

/** What is sealed with keys that are not here, or that are others of the same id: who has what, by the id of the key. */
export function missingKeyFindings(sealed: readonly Sealed[], ring: KeyRing | undefined): Finding[] {
  const missing = new Map<string, Set<string>>();
  for (const { session, keys, isUnread = false } of sealed) {
    for (const key of keys) {
      if (isUnread || ring?.keys.has(key) !== true) {
        missing.set(key, (missing.get(key) ?? new Set()).add(session));
      }
    }
  }
  return [...missing].map(([key, sessions]) => {
    const ids = [...sessions];
    const more = ids.length > SHOWN ? ', …' : '';
    const whose = `${counted(ids.length, 'session')}: ${ids.slice(0, SHOWN).join(', ')}${more}`;
    if (ring?.keys.has(key) === true) {
      return {
        what: WHAT,
        state: 'warn',
        detail: `the key ${key} that is here does not open what another one of that id has sealed: ${whose}`,
        hint: `Put the key that was ${key} before back under its id, and the one that is here now under an id of its own: docs/encryption.md.`,
      };
    }
    const detail = `the key ${key} is not here; it seals ${whose}`;
    return { what: WHAT, state: 'warn', detail, hint: missingKeyHint(key) };
  });
}
