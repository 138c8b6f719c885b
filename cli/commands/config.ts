import { formatKey, leaves, matches, type Table } from '../config/key-path.ts';
import { SECRET_KEYS } from '../config/schema.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { columns } from '../terminal-text.ts';

/** Prints each setting and where it comes from. */
export default async function config(invocation: Invocation): Promise<ExitCode> {
  const loaded = await invocation.loadConfig();
  const settings = leaves(loaded.config as unknown as Table).map(([path, value]) => ({
    key: formatKey(path),
    value: matches(path, SECRET_KEYS) ? '(hidden)' : value,
    origin: loaded.originOf(formatKey(path)).where,
  }));
  invocation.output.result({ settings, files: loaded.files }, () =>
    columns(settings.map(({ key, value, origin }) => [key, JSON.stringify(value), origin])).join('\n'),
  );
  return EXIT.done;
}
