import type { z } from 'zod';
import { type ErrorBody, explain } from '../../protocol/index.ts';
import { messageWithCauses } from './failure.ts';
import { insideTool } from './inside-tool.ts';
import type { OfferedTool } from './offered-tool.ts';

/** How long the checks of a schema may take; none of them is more than a look at something. */
const CHECK_MS = 10_000;

/**
 * The arguments of a call, checked, with defaults filled in; or the error that the model reads. Schemas of a team may
 * hold checks that wait for something, or throw, or never end: whatever they do, the call is answered.
 */
export async function parseArguments(
  tool: Pick<OfferedTool, 'name' | 'parameters'>,
  json: string,
  limitMs = CHECK_MS,
): Promise<{ value: unknown } | { error: ErrorBody }> {
  let raw: unknown;
  try {
    raw = json.trim() === '' ? {} : JSON.parse(json);
  } catch (error) {
    return { error: invalidArguments((error as Error).message) };
  }
  const limit = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => limit.resolve('late'), limitMs);
  try {
    const parsed = await Promise.race([
      insideTool(tool.name, () => checked(tool.parameters, raw)),
      limit.promise,
    ]);
    if (parsed === 'late') return { error: brokenCheck(tool.name, `did not end within ${limitMs} ms`) };
    return parsed.success ? { value: parsed.data } : { error: invalidArguments(explain(parsed.error)) };
  } catch (error) {
    return { error: brokenCheck(tool.name, `failed: ${messageWithCauses(error)}`) };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Many models give null, or an empty text, for what they leave out: so both count wherever a schema has no meaning of its
 * own for them. What has to be there is told as it was given.
 */
async function checked(parameters: z.ZodType, raw: unknown): Promise<z.ZodSafeParseResult<unknown>> {
  const parsed = await parameters.safeParseAsync(raw);
  if (parsed.success) return parsed;
  const empty = parsed.error.issues.flatMap(({ path }) => emptyAt(raw, path));
  if (empty.length === 0) return parsed;
  for (const { within, key } of empty) delete within[key];
  const without = await parameters.safeParseAsync(raw);
  if (without.success) return without;
  const missed = new Set(without.error.issues.map(({ path }) => path.join('\0')));
  const needed = empty.filter(({ path }) => missed.has(path));
  for (const { within, key, value } of needed) within[key] = value;
  return needed.length === 0 ? without : parameters.safeParseAsync(raw);
}

interface EmptyPlace {
  path: string;
  within: Record<PropertyKey, unknown>;
  key: PropertyKey;
  value: unknown;
}

/** The place of a null or an empty text in an object, where that is what the path of an issue leads to. */
function emptyAt(raw: unknown, path: PropertyKey[]): EmptyPlace[] {
  const key = path.at(-1);
  let within = raw;
  for (const step of path.slice(0, -1)) {
    if (typeof within !== 'object' || within === null || !Object.hasOwn(within, step)) return [];
    within = (within as Record<PropertyKey, unknown>)[step];
  }
  if (key === undefined || typeof within !== 'object' || within === null || Array.isArray(within)) return [];
  const object = within as Record<PropertyKey, unknown>;
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  return value === null || value === '' ? [{ path: path.join('\0'), within: object, key, value }] : [];
}

function invalidArguments(problem: string): ErrorBody {
  return {
    code: 'invalid_arguments',
    message: `failed to parse function arguments: ${problem}`,
    hint: 'Nothing was done. Call it again with arguments that follow the schema.',
    retryable: false,
  };
}

function brokenCheck(tool: string, what: string): ErrorBody {
  return {
    code: 'tool_failed',
    message: `The check of the arguments of ${tool} ${what}`,
    hint: 'Nothing was done. It is a fault of the tool, which its author can mend.',
    retryable: false,
  };
}
