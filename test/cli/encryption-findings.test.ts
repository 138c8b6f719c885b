import { randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keyFinding, missingKeyFindings } from '../../cli/encryption-findings.ts';
import { folderWith } from '../support/folders.ts';

const key = () => randomBytes(32).toString('base64');
const ring = (...ids: string[]) => ({
  current: ids[0] ?? '',
  keys: new Map(ids.map((id) => [id, randomBytes(32)] as const)),
});

test('without [encryption] that is said, and is no fault', () => {
  expect(keyFinding(undefined, {})).toEqual({
    what: 'encryption',
    state: 'ok',
    detail: 'not configured: Temporal can read all',
  });
});

test('keys from a variable are told by their ids', () => {
  const environment = { SEALING: `k1:${key()}\nk2:${key()}` };
  const finding = keyFinding({ key_env: 'SEALING', key_id: 'k2' }, environment);
  expect(finding).toEqual({
    what: 'encryption',
    state: 'ok',
    detail: 'seals with the key k2; k1 only to read, from SEALING',
  });
});

test.each([
  [0o600, 'ok'],
  [0o400, 'ok'],
  [0o640, 'warn'],
  [0o604, 'warn'],
  [0o620, 'warn'],
])('a key file with the mode %o: %s', (mode, state) => {
  const file = join(folderWith({ keys: `k1:${key()}` }), 'keys');
  chmodSync(file, mode);
  const finding = keyFinding({ key_file: file }, {});
  expect(finding).toMatchObject({
    state,
    detail: expect.stringContaining(`seals with the key k1, from ${file}`),
  });
  if (state === 'warn') {
    expect(finding).toMatchObject({
      detail: expect.stringContaining(`mode ${mode.toString(8)}`),
      hint: `chmod 600 ${file}`,
    });
  }
});

test('keys that are missing are named with the sessions that need them', () => {
  const sealed = [
    { session: 'a1', keys: ['k1', 'k2'] },
    { session: 'a2', keys: ['k2'] },
    { session: 'a3', keys: [] },
    { session: 'a2', keys: ['k2', 'k2'] },
  ];
  expect(missingKeyFindings(sealed, ring('k1', 'k2'))).toEqual([]);
  expect(missingKeyFindings(sealed, ring('k1'))).toMatchObject([
    { state: 'warn', detail: 'the key k2 is not here; it seals 2 sessions: a1, a2' },
  ]);
  expect(missingKeyFindings(sealed, undefined)).toMatchObject([
    {
      detail: 'the key k1 is not here; it seals 1 session: a1',
      hint: expect.stringContaining('Add the key k1'),
    },
    { detail: expect.stringContaining('the key k2') },
  ]);
});

test('a key that has the id of another one is told apart from one that is missing', () => {
  const sealed = [
    { session: 'a1', keys: ['k1'] },
    { session: 'a2', keys: ['k1'], isUnread: true },
  ];
  expect(missingKeyFindings(sealed, ring('k1'))).toMatchObject([
    { state: 'warn', detail: expect.stringMatching(/k1 that is here does not open .*: 1 session: a2$/) },
  ]);
});

test('of many sessions some are named', () => {
  const sealed = Array.from({ length: 9 }, (_, n) => ({ session: `a${n}`, keys: ['k'] }));
  const [finding] = missingKeyFindings(sealed, undefined);
  expect(finding?.detail).toMatch(/9 sessions: a0, a1, a2, a3, a4, …$/);
});
