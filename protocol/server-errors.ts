import { CadreError } from './errors.ts';
import { atLeast } from './versions.ts';

/**
 * The oldest Temporal server that Cadre works with: the oldest one that its tests were run against
 * (docs/decisions/033). Older ones may lack what agents rely on, and would fail them in the middle of their work.
 */
export const OLDEST_SUPPORTED_SERVER = '1.29.0';

const CHECK_ADDRESS =
  'Check the address (--address, TEMPORAL_ADDRESS), or leave it out to use the embedded server.';

/** By gRPC: it does not know what it is asked for. */
const UNIMPLEMENTED = 12;
/** The same from a worker's connection, which has no codes. */
const NOT_IMPLEMENTED = /GetSystemInfo.*not implemented/;

/** What was meant to answer at an address, and does not, or not as a server does. */
export function nobodyAt(address: string, cause: unknown): CadreError {
  if (isUnimplemented(cause)) {
    return new CadreError(
      'temporal_unreachable',
      `What answers at ${address} does not say which Temporal server it is: it is none, or one from before ${OLDEST_SUPPORTED_SERVER}.`,
      { hint: CHECK_ADDRESS, cause },
    );
  }
  return new CadreError('temporal_unreachable', `No Temporal server answers at ${address}.`, {
    hint: CHECK_ADDRESS,
    retryable: true,
    cause,
  });
}

function isUnimplemented(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return code === UNIMPLEMENTED || NOT_IMPLEMENTED.test(String(message));
}

/** @param details what the server says, with the name of the namespace */
export function noNamespace(details: string, cause?: unknown): CadreError {
  return new CadreError('config_invalid', `Temporal: ${details}`, {
    hint: 'Check --namespace, TEMPORAL_NAMESPACE and temporal.namespace of the configuration; `temporal operator namespace create --namespace NAME` creates one.',
    ...(cause === undefined ? {} : { cause }),
  });
}

/** What connections of clients and of workers have in common. */
interface Closable {
  close(): Promise<void>;
}

/**
 * Asks a server what it is, before anything else; a connection to one that will not do is closed.
 *
 * @param ask the system information of the server at the other end
 * @throws CadreError `temporal_unreachable` for a server that does not answer, or is too old
 */
export async function requireServer<C extends Closable>(
  connection: C,
  address: string,
  ask: (connection: C) => Promise<{ serverVersion?: string | null }>,
): Promise<C> {
  try {
    requireSupportedServer((await ask(connection)).serverVersion, address);
    return connection;
  } catch (error) {
    await connection.close();
    throw error instanceof CadreError ? error : nobodyAt(address, error);
  }
}

/**
 * A version that cannot be compared is passed: what is offered as a service may call itself as it likes.
 *
 * @param version as the server names it in its system information, such as 1.32.0
 * @throws CadreError `temporal_unreachable` for a server that is too old
 */
function requireSupportedServer(version: string | null | undefined, address: string): void {
  if (version === null || version === undefined || !/^v?\d+\.\d+\.\d+/.test(version)) return;
  if (atLeast(version.replace(/^v/, ''), OLDEST_SUPPORTED_SERVER)) return;
  throw new CadreError(
    'temporal_unreachable',
    `The Temporal server at ${address} is ${version}; Cadre needs ${OLDEST_SUPPORTED_SERVER} or newer.`,
    {
      hint: 'Upgrade that server, give another one with --address or TEMPORAL_ADDRESS, or leave the address out to use the embedded server.',
    },
  );
}
