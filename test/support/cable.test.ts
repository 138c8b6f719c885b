import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Cable } from './cable.ts';
import { stranger } from './ports.ts';

/** A server that says everything back, and a cable to it. */
async function echo(): Promise<Cable> {
  const server = await stranger((socket: Socket) => void socket.pipe(socket));
  const cable = await Cable.to(server.port);
  onTestFinished(async () => {
    await cable.close();
    await server.close();
  });
  return cable;
}

function talk(port: number): { socket: Socket; heard(): string; closed: Promise<void> } {
  let heard = '';
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  socket.on('data', (chunk) => {
    heard += chunk;
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  onTestFinished(() => void socket.destroy());
  return { socket, heard: () => heard, closed };
}

test('leads both ways, also to a server that has moved', async () => {
  const cable = await echo();
  const first = talk(cable.port);
  first.socket.write('one');
  await expect.poll(first.heard).toBe('one');
  const other = createServer((socket) => void socket.end('elsewhere'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const address = other.address();
  cable.target = typeof address === 'object' && address !== null ? address.port : 0;
  await expect.poll(talk(cable.port).heard).toBe('elsewhere');
});

test('breaks every connection and takes no new one until it is mended', async () => {
  const cable = await echo();
  const first = talk(cable.port);
  first.socket.write('one');
  await expect.poll(first.heard).toBe('one');
  cable.cut('refused');
  await first.closed;
  const second = talk(cable.port);
  await second.closed;
  cable.mend();
  const third = talk(cable.port);
  third.socket.write('three');
  await expect.poll(third.heard).toBe('three');
});

test('keeps silent, and delivers what was sent meanwhile when it is mended', async () => {
  const cable = await echo();
  const first = talk(cable.port);
  first.socket.write('one');
  await expect.poll(first.heard).toBe('one');
  cable.cut('silent');
  const second = talk(cable.port);
  first.socket.write(' two');
  second.socket.write('new');
  await sleep(300);
  expect([first.heard(), second.heard()]).toEqual(['one', '']);
  cable.mend();
  await expect.poll(first.heard).toBe('one two');
  await expect.poll(second.heard).toBe('new');
});
