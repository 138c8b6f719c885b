import { Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { inject } from 'vitest';

export interface Connections {
  native: NativeConnection;
  client: Connection;
}

Runtime.install({
  shutdownSignals: [],
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: { logging: { forward: {}, filter: 'ERROR' } },
});

/** Connects to the server of the test run. */
export async function connect(address: string = inject('temporalAddress')): Promise<Connections> {
  const [native, client] = await Promise.all([
    NativeConnection.connect({ address }),
    Connection.connect({ address }),
  ]);
  return { native, client };
}

export async function disconnect({ native, client }: Connections): Promise<void> {
  await native.close();
  await client.close();
}
