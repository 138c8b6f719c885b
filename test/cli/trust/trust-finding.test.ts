import { join } from 'node:path';
import { expect, test } from 'vitest';
import { trustFinding } from '../../../cli/trust-finding.ts';
import { folderWith } from '../../support/folders.ts';

const folder = '/srv/my repo';

test.each([
  ['untrusted', [], 'ok', undefined],
  ['untrusted', ['sandbox_mode'], 'warn', "cadre trust '/srv/my repo'"],
  ['changed', [], 'warn', "cadre trust '/srv/my repo'"],
  ['trusted', [], 'ok', undefined],
] as const)('a folder that is %s, with %j withheld, is %s', (state, withheld, found, hint) => {
  const finding = trustFinding(folderWith(), { trust: { folder, state }, withheld: [...withheld] });
  expect(finding).toMatchObject({ what: 'trust', state: found, detail: expect.stringContaining(folder) });
  if (hint === undefined) expect(finding.hint).toBeUndefined();
  else expect(finding.hint).toContain(hint);
});

test('a broken file of trusted folders fails, wherever one is', () => {
  const home = folderWith({ 'trusted.json': '[' });
  expect(trustFinding(home)).toMatchObject({
    state: 'fail',
    detail: expect.stringContaining(join(home, 'trusted.json')),
    hint: expect.stringContaining('cadre trust'),
  });
});
