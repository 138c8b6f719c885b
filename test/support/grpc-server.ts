import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import proto from '@temporalio/proto';

const { GetSystemInfoResponse } = proto.temporal.api.workflowservice.v1;
const UNIMPLEMENTED = 12;

export interface AncientServer {
  address: string;
  /** What was called, in order. */
  calls: string[];
  close(): Promise<void>;
}

/**
 * Speaks as much gRPC as it takes to say which version of Temporal it is, and nothing else.
 *
 * @param serverVersion undefined: it cannot even say that
 */
export async function serverOfVersion(serverVersion: string | undefined): Promise<AncientServer> {
  const calls: string[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream, headers) => {
    const name = String(headers[':path']).split('/').at(-1) ?? '';
    calls.push(name);
    if (name === 'GetSystemInfo' && serverVersion !== undefined)
      answer(stream, GetSystemInfoResponse.encode({ serverVersion }).finish());
    else answer(stream, undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    async close() {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answer(stream: ServerHttp2Stream, message: Uint8Array | undefined): void {
  stream.on('error', () => {});
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true });
  stream.on('wantTrailers', () =>
    stream.sendTrailers({ 'grpc-status': String(message === undefined ? UNIMPLEMENTED : 0) }),
  );
  if (message === undefined) {
    stream.end();
    return;
  }
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([prefix, message]));
}
