import { cadreHome } from '../../server/home.ts';
import { knownKeys } from '../config/closest-key.ts';
import { formatKey, leaves, matches, type Table } from '../config/key-path.ts';
import { configSchema, SECRET_KEYS } from '../config/schema.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { columns } from '../terminal-text.ts';
import { readSavedRules, rulesFile } from '../trust/saved-rules.ts';
import { trustText } from '../trust-finding.ts';

/** Prints each setting and where it comes from. */
export default async function config(invocation: Invocation): Promise<ExitCode> {
  const loaded = await invocation.loadConfig();
  const set = leaves(loaded.config as unknown as Table).map(([path, value]) => ({
    key: formatKey(path),
    value: matches(path, SECRET_KEYS) ? '(hidden)' : value,
    origin: loaded.originOf(formatKey(path)).where,
  }));
  const settings = [...set, ...unset(set.map(({ key }) => key))];
  const { files, trust, withheld } = loaded;
  // Beside those of `approvals.allow`, which no layer replaces.
  const home = cadreHome(invocation.environment);
  const file = rulesFile(home);
  const { rules } = readSavedRules(home);
  const saved = rules.length === 0 ? {} : { saved_rules: { file, rules } };
  const told = { settings, files, withheld, ...saved, ...(trust === undefined ? {} : { trust }) };
  invocation.output.result(told, () =>
    columns([
      ...settings.map(({ key, value, origin }) => [
        key,
        value === null ? '-' : JSON.stringify(value),
        origin,
      ]),
      ...rules.map((rule) => ['saved rule', JSON.stringify(rule), file]),
    ]).join('\n'),
  );
  if (trust !== undefined && invocation.output.format === 'text') invocation.output.info(trustText(trust));
  return EXIT.done;
}

/** What could be set and is not; what has a name that the person chooses is left out. */
function unset(set: readonly string[]): { key: string; value: null; origin: string }[] {
  const known = knownKeys(configSchema).filter((key) => !key.startsWith('profiles'));
  const isBelow = (key: string, table: string) => key.startsWith(`${table}.`);
  return known
    .filter((key) => !key.includes('<name>') && !known.some((other) => isBelow(other, key)))
    .filter((key) => !set.some((other) => other === key || isBelow(other, key) || isBelow(key, other)))
    .map((key) => ({ key, value: null, origin: 'unset' }));
}
