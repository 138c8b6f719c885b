import type { z } from 'zod';
import { CadreError } from '../../protocol/errors.ts';
import { counted } from '../../protocol/index.ts';
import { closestKey, knownKeys } from './closest-key.ts';
import { formatKey, isTable, type KeyPath, removeAt, valueAt } from './key-path.ts';
import type { Layer } from './layer.ts';
import { configSchema } from './schema.ts';

/** One thing that is wrong with the configuration. */
export interface ConfigProblem {
  where: string;
  message: string;
}

/** What is wrong with the values of one layer: unknown keys and values out of range. */
export function problemsOf(layer: Layer, schema: z.ZodType = configSchema): ConfigProblem[] {
  const result = schema.safeParse(layer.values);
  if (result.success) return [];
  return result.error.issues.flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => unknownKey([...path, key], layer, schema));
    }
    return [problemAt(path, layer, issue)];
  });
}

/** The key is named once: by the option that it comes from, or by the message. */
function problemAt(path: KeyPath, layer: Layer, issue: z.core.$ZodIssue): ConfigProblem {
  const { where } = layer.originOf(path);
  const key = formatKey(path);
  return { where, message: where.endsWith(` ${key}`) ? describe(issue) : `${key}: ${describe(issue)}` };
}

/** Taking one thing out may show the next: a whole is looked at once its parts are right. */
const MOST_ROUNDS = 8;

/**
 * Takes out unknown keys and the values that are out of range, so that what is left can be used.
 *
 * @param most problems that are told one by one; how many more there were is told behind them
 * @returns what was wrong with them
 */
export function withholdInvalid(
  layer: Layer,
  { schema = configSchema, most = 20 }: { schema?: z.ZodType; most?: number } = {},
): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  let more = 0;
  for (let round = 1; ; round++) {
    const issues = schema.safeParse(layer.values).error?.issues ?? [];
    if (issues.length === 0) break;
    for (const issue of issues) {
      const isUnknown = issue.code === 'unrecognized_keys';
      const paths = isUnknown ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
      for (const full of paths.map((parts) => parts.map(String))) {
        const path = [...full];
        // One bad entry of a list spoils the list.
        while (!isTable(valueAt(layer.values, path.slice(0, -1)))) path.pop();
        if (problems.length >= most) more++;
        else problems.push(isUnknown ? unknownKey(full, layer, schema) : problemAt(path, layer, issue));
        if (path.length === 0 || round === MOST_ROUNDS) layer.values = {};
        else removeAt(layer.values, path);
      }
    }
  }
  const { where = '' } = problems.at(-1) ?? {};
  if (more > 0) problems.push({ where: where.replace(/:\d+$/, ''), message: counted(more, 'more mistake') });
  return problems;
}

export function throwProblems(problems: readonly ConfigProblem[]): void {
  if (problems.length === 0) return;
  const lines = problems.map(({ where, message }) => `${where}: ${message}`);
  throw new CadreError('config_invalid', lines.join('\n'), {
    hint: 'Mend it there; `cadre doctor` tells whether anything is left.',
  });
}

function unknownKey(path: KeyPath, layer: Layer, schema: z.ZodType): ConfigProblem {
  const closest = closestKey(formatKey(path), knownKeys(schema));
  const meant = closest === undefined ? '' : `; did you mean ${closest}?`;
  const { where } = layer.originOf(path);
  const named = where.endsWith(` ${formatKey(path)}`) ? '' : ` ${formatKey(path)}`;
  return { where, message: `unknown key${named}${meant}` };
}

/** Unions and names report that they are invalid, and hide the reasons inside; the deepest reason is the one that helps. */
function describe(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message;
  if (issue.code !== 'invalid_union') return issue.message;
  const inner = issue.errors.flat().toSorted((a, b) => b.path.length - a.path.length)[0];
  if (inner === undefined) return issue.message;
  if (inner.code === 'unrecognized_keys') return `unknown key ${inner.keys.join(', ')}`;
  return inner.path.length === 0 ? inner.message : `${inner.path.map(String).join('.')}: ${inner.message}`;
}
