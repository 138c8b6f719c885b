import type { KeyRing } from './encryption.ts';

/** Certificates for mutual TLS or a private authority, PEM. */
export interface TlsOptions {
  serverNameOverride?: string;
  serverRootCACertificate?: Uint8Array;
  clientCertPair?: { crt: Uint8Array; key: Uint8Array };
}

/** Where a server is looked for that no address is given of. */
export const DEFAULT_ADDRESS = '127.0.0.1:7233';

/** The namespace that is meant where none is named. */
export const DEFAULT_NAMESPACE = 'default';

/** Where Temporal is reached. */
export interface ConnectOptions {
  /** `host:port`; default DEFAULT_ADDRESS. */
  address?: string;
  namespace?: string;
  tls?: boolean | TlsOptions;
  apiKey?: string;
  /** Everything that goes to Temporal is sealed with them; none: large payloads are compressed, and that is all. */
  encryption?: KeyRing;
}
