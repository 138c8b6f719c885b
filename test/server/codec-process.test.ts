import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { KeyRing } from '../../protocol/index.ts';
import { serves } from '../../server/codec-process.ts';
import { keyFingerprints } from '../../server/key-fingerprints.ts';

const key = randomBytes(32);
const ring = (...keys: [id: string, key: Uint8Array][]): KeyRing => ({ current: 'k1', keys: new Map(keys) });
const server = { ui: 'http://127.0.0.1:1', codec: 'http://127.0.0.1:2' };
const recordOf = (keys: KeyRing | undefined) => ({
  url: server.codec,
  ui: server.ui,
  pid: 1,
  started: 'x',
  keys: ['k1'],
  fingerprints: keyFingerprints(keys),
});

test('a codec server serves whoever has no other keys than it has', () => {
  const record = recordOf(ring(['k1', key], ['k2', randomBytes(32)]));
  expect(serves(record, server, keyFingerprints(ring(['k1', key])))).toBe(true);
  expect(serves(record, server, keyFingerprints(undefined))).toBe(true);
  expect(serves(record, server, keyFingerprints(ring(['k3', key])))).toBe(false);
  expect(serves(record, { ...server, ui: 'elsewhere' }, [])).toBe(false);
});

test('another key under the same id is another key', () => {
  expect(serves(recordOf(ring(['k1', key])), server, keyFingerprints(ring(['k1', randomBytes(32)])))).toBe(
    false,
  );
});

test('a fingerprint is always the same, and holds nothing of its key', () => {
  const [fingerprint = ''] = keyFingerprints(ring(['k1', key]));
  expect(keyFingerprints(ring(['k1', new Uint8Array(key)]))).toEqual([fingerprint]);
  expect(fingerprint).toMatch(/^k1:[0-9a-f]{64}$/);
  for (const form of ['hex', 'base64'] as const) expect(fingerprint).not.toContain(key.toString(form));
});
