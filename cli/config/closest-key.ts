import { distance } from 'fastest-levenshtein';
import { z } from 'zod';

/** All keys that a schema knows, dotted; `<name>` stands for a name that the person chooses. */
export function knownKeys(schema: z.ZodType, prefix = ''): string[] {
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([key, inner]) => {
      const path = prefix === '' ? key : `${prefix}.${key}`;
      return [path, ...knownKeys(inner as z.ZodType, path)];
    });
  }
  if (schema instanceof z.ZodRecord) {
    return knownKeys(schema.valueType as z.ZodType, `${prefix}.<name>`);
  }
  if (schema instanceof z.ZodUnion) {
    return schema.options.flatMap((option) => knownKeys(option as z.ZodType, prefix));
  }
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodNullable
  ) {
    return knownKeys(schema.unwrap() as z.ZodType, prefix);
  }
  return [];
}

/**
 * The known key that somebody most likely meant, if there is one: the same name in another table, else the one spelled most alike,
 * those of the same table first.
 */
export function closestKey(unknown: string, known: readonly string[]): string | undefined {
  const last = lastPart(unknown);
  const named = known.map((key) => withNames(key, unknown));
  const elsewhere = named.filter((key) => lastPart(key) === last);
  const candidates = elsewhere.length > 0 ? elsewhere : named;
  let best: { key: string; cost: number } | undefined;
  for (const key of candidates) {
    const sameTable = tableOf(key) === tableOf(unknown);
    const cost = Math.min(distance(unknown, key), distance(last, lastPart(key)) + (sameTable ? 0 : 2));
    const isClose = elsewhere.length > 0 || cost <= farthest(last) || begins(lastPart(key), last);
    if (isClose && (best === undefined || cost < best.cost)) best = { key, cost };
  }
  return best?.key;
}

/** The closest of some names; undefined where none is close. */
export function closestName(unknown: string, known: readonly string[]): string | undefined {
  return known
    .filter((name) => distance(unknown, name) <= farthest(unknown) || begins(name, unknown))
    .toSorted((a, b) => distance(unknown, a) - distance(unknown, b))[0];
}

/** How many letters a slip of the hand changes at most. */
const farthest = (name: string): number => (name.length < 4 ? 1 : Math.max(2, Math.floor(name.length / 3)));

/** Whether one is the beginning of the other, and long enough to mean it. */
function begins(a: string, b: string): boolean {
  return Math.min(a.length, b.length) >= 3 && (a.startsWith(b) || b.startsWith(a));
}

const lastPart = (key: string): string => key.slice(key.lastIndexOf('.') + 1);
const tableOf = (key: string): string => key.slice(0, Math.max(0, key.lastIndexOf('.')));

/** A known key with the names that the person chose in the places of `<name>`. */
function withNames(key: string, unknown: string): string {
  const parts = unknown.split('.');
  return key
    .split('.')
    .map((part, i) => (part === '<name>' ? (parts[i] ?? part) : part))
    .join('.');
}
