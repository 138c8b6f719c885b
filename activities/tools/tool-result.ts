import { z } from 'zod';
import { CadreError } from '../../protocol/index.ts';
import { isOfServer } from '../mcp/mcp-tool.ts';
import { withNulShown } from '../with-nul-shown.ts';
import { builtinTools } from './builtin-tools.ts';
import type { Tool, ToolResult } from './define-tool.ts';

/** What any tool may give back. The rest is dropped: an agent goes by it, and would stand still over what is malformed. */
const resultSchema = z.object({ output: z.string(), success: z.boolean() });

/** Whether the code of a tool comes with Cadre; what others hand over is looked at first. */
export function isCadresOwn(tool: Tool): boolean {
  return builtinTools.includes(tool) || isOfServer(tool);
}

/**
 * What a run has come to. Of tools that do not come with Cadre, output and success are taken and nothing else.
 *
 * @throws CadreError `tool_failed` for what is no result
 */
export function checkedResult(result: unknown, tool: Tool): ToolResult {
  const checked = checkedFields(result, tool);
  return { ...checked, output: readable(checked.output) };
}

/** Some providers refuse texts with NUL characters, or with halves of one; pictures for them stand in. */
function readable(text: string): string {
  return withNulShown(text).toWellFormed();
}

function checkedFields(result: unknown, tool: Tool): ToolResult {
  if (typeof result === 'string') return { output: result, success: true };
  if (isCadresOwn(tool)) return result as ToolResult;
  const parsed = resultSchema.safeParse(result);
  if (parsed.success) return parsed.data;
  throw new CadreError(
    'tool_failed',
    `${tool.name} ended, but gave back ${kindOf(result)} in place of a text or {output, success}: what it did is done, what it found is lost.`,
    { hint: 'Its author can mend this; to the model it can say nothing as it is.' },
  );
}

function kindOf(result: unknown): string {
  if (result === null) return 'null';
  if (Array.isArray(result)) return 'a list';
  if (typeof result !== 'object') return typeof result;
  const { output, success } = result as Partial<Record<keyof ToolResult, unknown>>;
  if (output === undefined) return 'an object without output';
  if (typeof output !== 'string') return `an output that is no text (${typeof output})`;
  return `a success that is neither true nor false (${typeof success})`;
}
