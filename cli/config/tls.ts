import { readFileSync } from 'node:fs';
import type { TlsOptions } from '../../protocol/connection.ts';
import { CadreError } from '../../protocol/errors.ts';
import type { Config } from './schema.ts';

/**
 * TLS for the connection to Temporal; an API key alone switches it on, as everywhere in Temporal.
 *
 * @throws CadreError `config_invalid` for a certificate that cannot be read
 */
export function tlsOptions({ tls, api_key }: Config['temporal']): boolean | TlsOptions | undefined {
  if (tls === undefined) return api_key === undefined ? undefined : true;
  if (typeof tls === 'boolean') return tls;
  if (tls.disabled === true) return false;
  const authority = pem('server_ca_cert', tls.server_ca_cert_path, tls.server_ca_cert_data);
  const crt = pem('client_cert', tls.client_cert_path, tls.client_cert_data);
  const key = pem('client_key', tls.client_key_path, tls.client_key_data);
  if ((crt === undefined) !== (key === undefined)) {
    throw new CadreError('config_invalid', 'temporal.tls: a client certificate and its key belong together', {
      hint: 'Set both client_cert_path and client_key_path, or neither.',
    });
  }
  return {
    ...(tls.server_name === undefined ? {} : { serverNameOverride: tls.server_name }),
    ...(authority === undefined ? {} : { serverRootCACertificate: authority }),
    ...(crt === undefined || key === undefined ? {} : { clientCertPair: { crt, key } }),
  };
}

function pem(name: string, path: string | undefined, data: string | undefined): Uint8Array | undefined {
  if (data !== undefined) return Buffer.from(data);
  if (path === undefined) return undefined;
  try {
    return readFileSync(path);
  } catch (error) {
    throw new CadreError('config_invalid', `temporal.tls.${name}_path: ${path} cannot be read`, {
      hint: 'Check the path and its permissions.',
      cause: error,
    });
  }
}
