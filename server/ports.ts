import { createServer } from 'node:net';
import { CadreError } from '../protocol/index.ts';
import type { ServerRecord } from './record.ts';

export interface Ports {
  port: number;
  uiPort: number;
}

/** Those of the last time where they are free: links in the Web UI stay valid and workers find the server again. */
export async function choosePorts(before: ServerRecord | undefined): Promise<Ports> {
  const port = await freePort(portOf(before?.address));
  return { port, uiPort: await freePort(portOf(before?.ui), port) };
}

/** Whether nobody has taken them meanwhile. */
export async function areFree({ port, uiPort }: Ports): Promise<boolean> {
  return (await listenOnce(port)) !== undefined && (await listenOnce(uiPort)) !== undefined;
}

function portOf(address: string | undefined): number | undefined {
  const port = Number(address?.slice(address.lastIndexOf(':') + 1));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

async function freePort(wanted: number | undefined, except?: number): Promise<number> {
  if (wanted !== undefined && wanted !== except && (await listenOnce(wanted)) !== undefined) return wanted;
  for (let tries = 0; tries < 10; tries++) {
    const port = await listenOnce(0);
    if (port !== undefined && port !== except) return port;
  }
  throw new CadreError('server_unavailable', 'There is no free port on 127.0.0.1 for the Temporal server.');
}

/** The port, when it could be listened on; undefined when somebody else has it. */
function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address();
      const got = typeof address === 'object' && address !== null ? address.port : undefined;
      probe.close(() => resolve(got));
    });
  });
}
