import { constants } from 'node:os';
import { expect, test } from 'vitest';
import { mayPass, systemReason } from '../../activities/system-reason.ts';

const failing = (code: string) =>
  Object.assign(new Error(`${code}: words of the system, open '/x'`), { code, syscall: 'open' });

test.each([
  'ENOENT',
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOSPC',
  'EDQUOT',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'EIO',
  'EISDIR',
  'ENOTDIR',
  'ELOOP',
  'ENAMETOOLONG',
  'ESTALE',
])('%s is told in words', (code) => {
  expect(constants.errno).toHaveProperty(code);
  const reason = systemReason(failing(code), 'written');
  expect(reason).toMatch(/^(is|has|may|lies|does|leads|cannot) /);
  expect(reason).not.toMatch(/E[A-Z]{3}|words of the system|DONE/);
});

test('what has no words is told by its code, and what has none by its message', () => {
  expect(systemReason(failing('EPROTO'), 'read')).toBe('could not be read: EPROTO');
  expect(systemReason(new Error('odd'), 'read')).toBe('could not be read: odd');
});

test('what passes is known by the error, and by the one that it has come from', () => {
  expect([failing('EMFILE'), new Error('told', { cause: failing('EBUSY') })].map(mayPass)).toEqual([
    true,
    true,
  ]);
  expect([failing('ENOENT'), new Error('told'), undefined].map(mayPass)).toEqual([false, false, false]);
});
