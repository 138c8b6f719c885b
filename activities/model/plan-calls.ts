import {
  CadreError,
  type ErrorBody,
  explain,
  type PlannedCall,
  type ToolCall,
} from '../../protocol/index.ts';
import type { OfferedTool } from '../tools/offered-tool.ts';

/**
 * How the workflow runs what the model asked for: one plan a call, in order. What cannot run is refused with a reason
 * that the model can act on.
 *
 * @param tools what was offered; none when this call was to bring an answer only
 */
export function planCalls(
  calls: readonly ToolCall[],
  tools: readonly OfferedTool[],
  final: boolean,
): PlannedCall[] {
  return calls.map((call) => {
    if (final)
      return refused(call, { code: 'limit_steps', message: 'No tools were on offer: answer with text.' });
    const tool = tools.find((each) => each.name === call.name);
    if (tool === undefined) return refused(call, unknownTool(call.name, tools));
    const parsed = parseArguments(call.arguments, tool);
    if ('error' in parsed) return refused(call, parsed.error);
    try {
      return tool.plan({ call_id: call.call_id, name: call.name, arguments: parsed.value });
    } catch (error) {
      if (error instanceof CadreError) return refused(call, error.body);
      throw error;
    }
  });
}

function parseArguments(text: string, tool: OfferedTool): { value: unknown } | { error: ErrorBody } {
  let value: unknown;
  try {
    value = text.trim() === '' ? {} : JSON.parse(text);
  } catch (error) {
    return { error: unparsable(error instanceof Error ? error.message : String(error)) };
  }
  const result = tool.parameters.safeParse(value);
  return result.success ? { value: result.data } : { error: unparsable(explain(result.error)) };
}

function unparsable(reason: string): ErrorBody {
  return {
    code: 'invalid_arguments',
    message: `failed to parse function arguments: ${reason}`,
    hint: 'Nothing was done. Call it again with arguments that follow the schema.',
  };
}

function unknownTool(name: string, tools: readonly OfferedTool[]): ErrorBody {
  const names = tools.map((tool) => tool.name);
  return {
    code: 'unknown_tool',
    message: `There is no tool ${name}.`,
    hint: names.length === 0 ? 'No tools are on offer.' : `On offer: ${names.join(', ')}`,
  };
}

function refused(call: ToolCall, error: ErrorBody): PlannedCall {
  return { kind: 'refused', call_id: call.call_id, name: call.name, error, summary: '' };
}
