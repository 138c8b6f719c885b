import { cadreHome } from '../../server/home.ts';
import { stopServer } from '../../server/stop.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { markStopped } from '../serving/stopped-server.ts';

export default async function serverStop({ output, environment }: Invocation): Promise<ExitCode> {
  const home = cadreHome(environment);
  await markStopped(home);
  const stopped = await stopServer(home);
  const text = stopped
    ? 'stopped; what it keeps is there when it starts again'
    : `no server runs for ${home}`;
  output.result({ stopped, home }, text);
  return EXIT.done;
}
