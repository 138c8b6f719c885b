import { formatKey, isTable, type KeyPath, leaves, setAt, type Table, valueAt } from './key-path.ts';
import type { TomlFile } from './toml-file.ts';

export const LAYERS = [
  'default',
  'built-in',
  'user',
  'repository',
  'profile',
  'temporal.toml',
  'environment',
  'override',
  'flag',
] as const;

/** Where a value comes from. */
export interface Origin {
  layer: (typeof LAYERS)[number];
  /** For people: `~/.cadre/config.toml:3`, `OPENAI_BASE_URL`, `--model`. */
  where: string;
}

/** Settings from one place; later layers win over earlier ones. */
export interface Layer {
  values: Table;
  originOf(path: KeyPath): Origin;
}

export const DEFAULT_ORIGIN: Origin = { layer: 'default', where: 'default' };

export function fileLayer(layer: Origin['layer'], file: TomlFile, show: string, prefix: KeyPath = []): Layer {
  return {
    values: file.values,
    originOf: (path) => {
      const line = file.lineOf([...prefix, ...path]);
      return { layer, where: line === undefined ? show : `${show}:${line}` };
    },
  };
}

/** A layer in which each value names its own place: a variable, a flag. */
export function namedLayer(
  layer: Origin['layer'],
  entries: { path: KeyPath; value: unknown; where: string }[],
): Layer {
  const values: Table = {};
  const places = new Map<string, string>();
  for (const { path, value, where } of entries) {
    if (value === undefined) continue;
    setAt(values, path, value);
    places.set(formatKey(path), where);
  }
  return {
    values,
    originOf: (path) => {
      for (let length = path.length; length > 0; length--) {
        const where = places.get(formatKey(path.slice(0, length)));
        if (where !== undefined) return { layer, where };
      }
      const below = [...places].find(([key]) => key.startsWith(`${formatKey(path)}.`));
      return { layer, where: below?.[1] ?? layer };
    },
  };
}

/** All layers as one table, with the origin of each value by its dotted key. */
export function stack(layers: readonly Layer[]): { values: Table; origins: Map<string, Origin> } {
  const values: Table = {};
  const origins = new Map<string, Origin>();
  for (const layer of layers) {
    for (const [path, value] of leaves(layer.values)) {
      forget(origins, path, values);
      setAt(values, path, value);
      origins.set(formatKey(path), layer.originOf(path));
    }
  }
  return { values, origins };
}

/** A value that replaces a table, or a table that replaces a value, leaves no origins of what was there. */
function forget(origins: Map<string, Origin>, path: KeyPath, values: Table): void {
  for (let length = 1; length < path.length; length++) origins.delete(formatKey(path.slice(0, length)));
  if (!isTable(valueAt(values, path))) return;
  const below = `${formatKey(path)}.`;
  for (const key of origins.keys()) if (key.startsWith(below)) origins.delete(key);
}
