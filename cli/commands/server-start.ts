import { cadreHome, ensureServer } from '../../server/index.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { serverLines } from '../render/server-lines.ts';

export default async function serverStart({ output, environment }: Invocation): Promise<ExitCode> {
  const home = cadreHome(environment);
  const server = await ensureServer({ home, onProgress: (text) => output.info(text) });
  output.result({ running: true, home, ...server }, () => serverLines(server, home));
  return EXIT.done;
}
