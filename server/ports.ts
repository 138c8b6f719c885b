import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { CadreError } from '../protocol/index.ts';
import type { ServerRecord } from './record.ts';

export interface Ports {
  port: number;
  uiPort: number;
  /** Of the codec server beside it, where there is to be one. */
  codecPort?: number;
}

/**
 * Below the ports that systems hand out by themselves: from those the server takes some more for its own use, and
 * whoever looks for a server that is gone may get its very port to look from.
 */
const [FIRST, END] = [20_000, 30_000];
const TRIES = 100;

/** Those of the last time where they are free: links in the Web UI stay valid and workers find the server again. */
export async function choosePorts(before: ServerRecord | undefined): Promise<Ports> {
  const port = await freePort(portOf(before?.address));
  return { port, uiPort: await freePort(portOf(before?.ui), [port]) };
}

/**
 * The port of the codec server, which may have outlived its server and then stays where it is.
 *
 * @param running where it runs
 */
export async function chooseCodecPort(
  { port, uiPort }: Ports,
  before: ServerRecord | undefined,
  running: string | undefined,
): Promise<number> {
  const kept = running === before?.codec ? portOf(running) : undefined;
  return kept ?? (await freePort(portOf(before?.codec), [port, uiPort]));
}

/** Whether nobody has taken them meanwhile. */
export async function areFree({ port, uiPort }: Ports): Promise<boolean> {
  return (await canListen(port)) && (await canListen(uiPort));
}

function portOf(address: string | undefined): number | undefined {
  const port = Number(address?.slice(address.lastIndexOf(':') + 1));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

async function freePort(wanted: number | undefined, except: readonly number[] = []): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = tries === 0 && wanted !== undefined ? wanted : randomInt(FIRST, END);
    if (!except.includes(port) && (await canListen(port))) return port;
  }
  throw new CadreError('server_unavailable', 'There is no free port on 127.0.0.1 for the Temporal server.');
}

/** False when somebody else has the port. */
function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
