import type { PlannedCall, ToolOutput } from '../protocol/index.ts';

/** What the model reads for a call. */
export function toolOutput({ call_id }: PlannedCall, output: string, success: boolean): ToolOutput {
  return { type: 'tool_output', call_id, output, success };
}
