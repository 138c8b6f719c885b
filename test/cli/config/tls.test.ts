import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tlsOptions } from '../../../cli/config/tls.ts';
import { folderWith } from '../../support/folders.ts';

test.each([
  [{}, undefined],
  [{ api_key: 'k' }, true],
  [{ tls: true }, true],
  [{ tls: false, api_key: 'k' }, false],
  [{ tls: { disabled: true }, api_key: 'k' }, false],
  [{ tls: { disabled: false } }, {}],
  [{ tls: { server_name: 'n' } }, { serverNameOverride: 'n' }],
])('%j connects with %j', (temporal, expected) => {
  expect(tlsOptions(temporal)).toEqual(expected);
});

test('certificates come from files or from the settings themselves', () => {
  const folder = folderWith({ 'cert.pem': 'CERT', 'key.pem': 'KEY' });
  const tls = {
    client_cert_path: join(folder, 'cert.pem'),
    client_key_path: join(folder, 'key.pem'),
    server_ca_cert_data: 'CA',
  };
  expect(tlsOptions({ tls })).toEqual({
    serverRootCACertificate: Buffer.from('CA'),
    clientCertPair: { crt: Buffer.from('CERT'), key: Buffer.from('KEY') },
  });
});

test('half a pair and a file that is not there are refused', () => {
  expect(() => tlsOptions({ tls: { client_cert_data: 'C' } })).toThrow(/belong together/);
  expect(() => tlsOptions({ tls: { server_ca_cert_path: '/nowhere.pem' } })).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining('/nowhere.pem') }),
  );
});
