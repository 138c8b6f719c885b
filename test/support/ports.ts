import { createServer, type Socket } from 'node:net';

/** Somebody on a free port of loopback who is no server of ours: says nothing, or what it is given. */
export async function stranger(
  greet: (socket: Socket) => void = () => {},
): Promise<{ port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    greet(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** A port on which nobody listens. */
export async function freePort(): Promise<number> {
  const { port, close } = await stranger();
  await close();
  return port;
}
