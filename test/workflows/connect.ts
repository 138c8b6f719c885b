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
    // A page of a history may be larger than what the client takes by default.
    Connection.connect({ address, channelArgs: { 'grpc.max_receive_message_length': 16 * 1024 * 1024 } }),
  ]);
  return { native, client };
}

export async function disconnect({ native, client }: Connections): Promise<void> {
  await native.close();
  await client.close();
}
