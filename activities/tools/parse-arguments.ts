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

/** Many models give null for what they leave out: so it counts wherever a schema has no meaning of its own for it. */
async function checked(parameters: z.ZodType, raw: unknown): Promise<z.ZodSafeParseResult<unknown>> {
  const parsed = await parameters.safeParseAsync(raw);
  if (parsed.success) return parsed;
  const nulls = parsed.error.issues.flatMap(({ path }) => nullAt(raw, path));
  if (nulls.length === 0) return parsed;
  for (const { within, key } of nulls) delete within[key];
  return parameters.safeParseAsync(raw);
}

/** The place of a null in an object, where that is what the path of an issue leads to. */
function nullAt(
  raw: unknown,
  path: PropertyKey[],
): { within: Record<PropertyKey, unknown>; key: PropertyKey }[] {
  const key = path.at(-1);
  let within = raw;
  for (const step of path.slice(0, -1)) {
    if (typeof within !== 'object' || within === null || !Object.hasOwn(within, step)) return [];
    within = (within as Record<PropertyKey, unknown>)[step];
  }
  if (key === undefined || typeof within !== 'object' || within === null || Array.isArray(within)) return [];
  const object = within as Record<PropertyKey, unknown>;
  return Object.hasOwn(object, key) && object[key] === null ? [{ within: object, key }] : [];
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
