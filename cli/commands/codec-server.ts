import { CadreError, keyIds } from '../../protocol/index.ts';
import { cadreHome } from '../../server/home.ts';
import { liveRecord } from '../../server/record.ts';
import { loadKeys } from '../config/encryption.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { onSignals } from '../follow/signals.ts';
import type { Invocation } from '../invocation.ts';
import { originsOf, serveBeside } from '../serving/codec-process.ts';

interface CodecServerOptions {
  port?: number;
  ui?: string[];
  beside?: boolean;
}

/** Shows the Temporal Web UI and the `temporal` program what payloads hold, until it is told to stop. */
export default async function codecServer(
  invocation: Invocation,
  _args: [],
  { port, ui = [], beside }: CodecServerOptions,
): Promise<ExitCode> {
  const { output, environment } = invocation;
  const { config } = await invocation.loadConfig();
  const keys = loadKeys(config.encryption, environment);
  const home = cadreHome(environment);
  const stop = new AbortController();
  const undo = onSignals(() => stop.abort());
  try {
    if (beside === true) {
      await serveBeside(home, keys, stop.signal);
      return EXIT.done;
    }
    const own = await liveRecord(home);
    const uis = [...ui, ...(own === undefined ? [] : [own.ui])].flatMap(originsOf);
    const { startCodecServer } = await import('../../codec/codec-server.ts');
    const server = await startCodecServer({ keys, port, origins: uis }).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw new CadreError('usage', `The codec server cannot listen at port ${port}: ${reason}.`, {
        hint: 'Leave --port out to get a free one.',
        cause: error,
      });
    });
    const ids = keyIds(keys);
    output.info(
      `Codec server at ${server.url} ${ids.length === 0 ? 'without keys' : `with the keys ${ids.join(', ')}`}, for ${uis.length === 0 ? 'no Web UI' : uis.join(', ')}; Ctrl-C stops it.`,
    );
    output.info(`temporal workflow show --codec-endpoint ${server.url} --workflow-id ID`);
    if (!stop.signal.aborted) {
      await new Promise((resolve) => stop.signal.addEventListener('abort', resolve, { once: true }));
    }
    await server.close();
    return EXIT.done;
  } finally {
    undo();
  }
}
