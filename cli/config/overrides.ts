import { CadreError } from '../../protocol/errors.ts';
import { formatKey, type KeyPath, setAt, type Table } from './key-path.ts';
import { type Layer, namedLayer } from './layer.ts';
import { problemsOf } from './problems.ts';
import { keyPath, plainToml } from './toml-file.ts';

/** `-c key=value` options as a layer: dotted keys, TOML values, bare words as strings. */
export function overrideLayer(overrides: readonly string[]): Layer {
  return namedLayer(
    'override',
    overrides.map((text) => ({ ...parseOverride(text), where: `-c ${text.split('=', 1)[0]?.trim()}` })),
  );
}

/** @throws CadreError `usage` for text that is not key=value */
export function parseOverride(text: string): { path: KeyPath; value: unknown } {
  const cut = text.indexOf('=');
  const path = cut < 1 ? undefined : keyPath(text.slice(0, cut).trim());
  if (path === undefined) {
    throw new CadreError('usage', `-c ${text}: expected key=value`, {
      hint: 'For example: -c model=gpt-5.2 or -c agents.max_depth=2',
    });
  }
  const raw = text.slice(cut + 1).trim();
  const value = tomlValue(raw);
  // `-c model=5` means the text 5: a number that the schema refuses may still be a string that it takes.
  const asText = typeof value !== 'string' && !fits(path, value) && fits(path, raw);
  return { path, value: asText ? raw : value };
}

function tomlValue(raw: string): unknown {
  try {
    const parsed = plainToml(`value = ${raw}`);
    return Object.keys(parsed).length === 1 ? parsed.value : raw;
  } catch {
    return raw;
  }
}

function fits(path: KeyPath, value: unknown): boolean {
  const values: Table = {};
  setAt(values, path, value);
  return problemsOf({ values, originOf: () => ({ layer: 'override', where: formatKey(path) }) }).length === 0;
}
