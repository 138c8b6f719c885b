import { cadreHome, ensureFolder, ensureServer } from '../../server/index.ts';
import { loadKeys } from '../config/encryption.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { codecView, serverLines } from '../render/server-lines.ts';
import { codecServerOf, ensureCodecServer } from '../serving/codec-process.ts';

export default async function serverStart(invocation: Invocation): Promise<ExitCode> {
  const { output, environment } = invocation;
  const { config } = await invocation.loadConfig();
  const keys = loadKeys(config.encryption, environment);
  const home = ensureFolder(cadreHome(environment));
  const server = await ensureServer({ home, codecServer: true, onProgress: (text) => output.info(text) });
  await ensureCodecServer(home, server, { keys, config: config.encryption });
  const codec = await codecServerOf(home, server, keys);
  output.result({ running: true, home, ...server, codec_server: codecView(codec) }, () =>
    serverLines(server, home, codec),
  );
  return EXIT.done;
}
