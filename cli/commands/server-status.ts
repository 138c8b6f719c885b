import { runningCodecServer } from '../../server/codec-process.ts';
import { cadreHome } from '../../server/home.ts';
import { serverStatus as findServer } from '../../server/stop.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { codecView, serverLines } from '../render/server-lines.ts';

export default async function serverStatus({ output, environment }: Invocation): Promise<ExitCode> {
  const home = cadreHome(environment);
  const server = await findServer(home);
  if (server === undefined) {
    output.result({ running: false, home }, `no server runs for ${home}`);
    return EXIT.done;
  }
  const codec = await runningCodecServer(home);
  output.result({ running: true, home, ...server, codec_server: codecView(codec) }, () =>
    serverLines(server, home, codec),
  );
  return EXIT.done;
}
