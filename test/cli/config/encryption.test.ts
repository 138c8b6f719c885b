import { randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadKeys } from '../../../cli/config/encryption.ts';
import { CadreError } from '../../../protocol/index.ts';
import { folderWith } from '../../support/folders.ts';

const [A, B] = [randomBytes(32), randomBytes(32)];
const [a, b] = [A.toString('base64'), B.toString('base64')];

function fromVariable(value: string | undefined, key_id?: string) {
  const encryption = { key_env: 'SEALING', ...(key_id === undefined ? {} : { key_id }) };
  return loadKeys(encryption, { SEALING: value });
}

function problemOf(load: () => unknown): CadreError {
  try {
    load();
  } catch (error) {
    if (error instanceof CadreError) return error;
  }
  throw new Error('it was taken');
}

test('without [encryption] there are no keys', () => {
  expect(loadKeys(undefined, { SEALING: a })).toBeUndefined();
});

describe('keys are taken', () => {
  test('from a variable that holds nothing but one', () => {
    expect(fromVariable(a)).toEqual({ current: 'default', keys: new Map([['default', A]]) });
    expect(fromVariable(`${a}\n`, 'k1')).toEqual({ current: 'k1', keys: new Map([['k1', A]]) });
  });

  test('from a variable that holds several, of which key_id seals', () => {
    for (const between of [',', '\n', ' , ', '\r\n']) {
      expect(fromVariable(`k1:${a}${between}k2:${b}`, 'k2')).toEqual({
        current: 'k2',
        keys: new Map([
          ['k1', A],
          ['k2', B],
        ]),
      });
    }
  });

  test('from a file with comments', () => {
    const text = `# until 2027\nk2:${b}\n\n  k1:${a}   # the old one\n`;
    const folder = folderWith({ keys: text });
    const ring = loadKeys({ key_file: join(folder, 'keys'), key_id: 'k2' }, {});
    expect([...(ring?.keys.keys() ?? [])]).toEqual(['k2', 'k1']);
    expect(ring?.current).toBe('k2');
  });

  test('also in the alphabet of URLs and without padding', () => {
    expect(fromVariable(A.toString('base64url'))?.keys.get('default')).toEqual(A);
  });
});

describe('an error names the key and the place for', () => {
  test.each<[what: string, value: string | undefined, id: string | undefined, message: RegExp]>([
    ['a variable that is not set', undefined, 'k1', /SEALING.*the key k1.*is not set/],
    ['a variable that is empty', ' ', 'k1', /SEALING.*the key k1.*is not set/],
    ['nothing but a comment', '# later', 'k1', /SEALING.*holds no key k1/],
    ['a short key', randomBytes(31).toString('base64'), 'k1', /key k1 in .*SEALING.* has 31 bytes, not 32/],
    ['a long key', `k1:${randomBytes(33).toString('base64')}`, undefined, /key k1 in .*SEALING.* 33 bytes/],
    ['a password', 'k1:p@ssw0rd', undefined, /key k1 in .*SEALING.* is no base64/],
    ['an empty key', 'k1:', undefined, /key k1 in .*SEALING.* is no base64/],
    ['a key that is not there', `k1:${a}`, 'k9', /key k9 .*not in .*SEALING.*holds k1/],
    ['no choice among several', `k1:${a},k2:${b}`, undefined, /SEALING.*several keys \(k1, k2\)/],
    ['the same id twice', `k1:${a},k1:${b}`, 'k1', /SEALING.*two keys k1/],
    ['a key without an id beside others', `k1:${a},${b}`, 'k1', /SEALING.*number 2 of 2 has no id/],
  ])('%s', (_what, value, id, message) => {
    const error = problemOf(() => fromVariable(value, id));
    expect(error.code).toBe('config_invalid');
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(/./);
    // Whatever is wrong with them: keys are never shown.
    for (const secret of [a, b, 'p@ssw0rd']) expect(JSON.stringify(error.body)).not.toContain(secret);
  });

  test('a file that is not there, or is a folder', () => {
    const folder = folderWith({});
    const missing = problemOf(() => loadKeys({ key_file: join(folder, 'keys'), key_id: 'k1' }, {}));
    expect(missing.message).toMatch(
      /keys \(encryption.key_file\), which holds the key k1: there is no such file/,
    );
    const folderInstead = problemOf(() => loadKeys({ key_file: folder }, {}));
    expect(folderInstead.message).toMatch(/cannot be read \(EISDIR\)/);
  });

  test.skipIf(process.getuid?.() === 0)('a file that may not be read', () => {
    const folder = folderWith({ keys: a });
    chmodSync(join(folder, 'keys'), 0);
    expect(problemOf(() => loadKeys({ key_file: join(folder, 'keys') }, {})).message).toMatch(/EACCES/);
  });

  test('two places, and none', () => {
    const both = problemOf(() => loadKeys({ key_env: 'SEALING', key_file: '/keys', key_id: 'k1' }, {}));
    expect(both.message).toMatch(/two places for the key k1/);
    expect(problemOf(() => loadKeys({ key_id: 'k1' }, {})).message).toMatch(/nowhere where the key k1 is/);
    expect(problemOf(() => loadKeys({}, {})).message).toMatch(/nowhere/);
  });
});

test('an id that looks like anything but one is not repeated: it may be the key', () => {
  const error = problemOf(() => fromVariable(`${a}:k1`));
  expect(error.message).toMatch(/number 1 of 1 is not one/);
  expect(JSON.stringify(error.body)).not.toContain(a);
});
