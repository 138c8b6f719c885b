import { connect, createServer } from 'node:net';
import { afterEach, expect, inject, test, vi } from 'vitest';
import { Invocation } from '../../cli/invocation.ts';
import { Workplaces } from '../../cli/workplaces.ts';
import { folderWith } from '../support/folders.ts';
import { freePort } from '../support/ports.ts';

vi.setConfig({ testTimeout: 120_000 });
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Those of a process whose person has a home of their own; and a configuration with that server, and what is given. */
async function atHome() {
  const root = folderWith();
  vi.stubEnv('HOME', root);
  vi.stubEnv('CADRE_HOME', `${root}/home`);
  const invocation = new Invocation({});
  const { config } = await invocation.loadConfig([], root);
  const configured = (address: string, namespace = 'default') => ({
    ...config,
    temporal: { ...config.temporal, address, namespace },
  });
  return { places: new Workplaces(invocation), configured };
}

test('whoever asks for the same server shares one workplace, also at the same time; for another there is another', async () => {
  const address = inject('temporalAddress');
  const { places, configured } = await atHome();
  const [first, second] = await Promise.all([
    places.open(configured(address)),
    places.open(configured(address)),
  ]);
  try {
    expect(second).toBe(first);
    expect(await places.open(configured(address))).toBe(first);
    const elsewhere = await places.open(configured(address, 'temporal-system'));
    expect(elsewhere).not.toBe(first);
    elsewhere.close();
  } finally {
    first.close();
  }
});

test('a server that was not there is tried again by the next who asks', async () => {
  const port = await freePort();
  const { places, configured } = await atHome();
  const config = configured(`127.0.0.1:${port}`);
  await expect(places.open(config)).rejects.toMatchObject({ code: 'temporal_unreachable' });
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const [host = '', real = ''] = inject('temporalAddress').split(':');
  const relay = createServer((socket) => {
    const onward = connect(Number(real), host);
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on('error', () => {});
  }).listen(port, '127.0.0.1', resolve);
  await ready;
  try {
    const place = await places.open(config);
    expect(await places.open(config)).toBe(place);
    place.close();
  } finally {
    relay.close();
  }
});
