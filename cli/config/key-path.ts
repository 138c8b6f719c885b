/** The path of a setting, from the outermost table to the key. */
export type KeyPath = readonly string[];

export type Table = { [key: string]: unknown };

/** The path as TOML writes it: `model_providers."my.host".base_url`. */
export function formatKey(path: KeyPath): string {
  return path.map((part) => (/^[A-Za-z0-9_-]+$/.test(part) ? part : JSON.stringify(part))).join('.');
}

/** A plain table, not an array and not a date. */
export function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** All values below a table with their paths; lists count as values, empty tables as nothing. */
export function leaves(table: Table, prefix: KeyPath = []): [KeyPath, unknown][] {
  return Object.entries(table).flatMap(([key, value]): [KeyPath, unknown][] => {
    if (value === undefined) return [];
    const path = [...prefix, key];
    return isTable(value) ? leaves(value, path) : [[path, value]];
  });
}

export function valueAt(table: Table, path: KeyPath): unknown {
  let at: unknown = table;
  for (const key of path) {
    if (!isTable(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

/** Sets a value, making the tables above it. A value that is no table gives way to one. */
export function setAt(table: Table, path: KeyPath, value: unknown): void {
  const [last, ...above] = path.toReversed();
  if (last === undefined) return;
  let at = table;
  for (const key of above.reverse()) {
    const inner = Object.hasOwn(at, key) ? at[key] : undefined;
    const next = isTable(inner) ? inner : {};
    if (next !== inner) define(at, key, next);
    at = next;
  }
  define(at, last, value);
}

export function removeAt(table: Table, path: KeyPath): void {
  const parent = valueAt(table, path.slice(0, -1));
  const key = path.at(-1);
  if (isTable(parent) && key !== undefined) delete parent[key];
}

/** Whether a path is one of the patterns, or lies below one; `*` stands for any one name. */
export function matches(path: KeyPath, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split('.');
    return parts.length <= path.length && parts.every((part, i) => part === '*' || part === path[i]);
  });
}

/** As an own property, whatever the key: `__proto__` is a name like any other in somebody's file. */
function define(table: Table, key: string, value: unknown): void {
  Object.defineProperty(table, key, { value, enumerable: true, writable: true, configurable: true });
}
