import { isAbsolute, join } from 'node:path';
import { CadreError } from '../../protocol/index.ts';
import { namesPatchProgram, patchInCommand } from '../patch/patch-in-command.ts';
import { patch } from './apply-patch.ts';
import { runFolder } from './command-call.ts';
import type { ToolContext, ToolResult } from './define-tool.ts';
import { isAllowed } from './tool-policy.ts';

interface PatchCall {
  command: string | string[];
  workdir?: string | undefined;
}

/**
 * Applies the patch of a command that does nothing else, as models that know `apply_patch` as a program write it:
 * within the bounds of the tool, with its questions. Whoever may not patch may not in this way either.
 *
 * @returns undefined for any other command
 * @throws CadreError, ApprovalNeeded, as `patch` does
 */
export async function patchByCommand(
  { command, workdir = '.' }: PatchCall,
  context: ToolContext,
): Promise<ToolResult | string | undefined> {
  const found = patchInCommand(command);
  if (found === undefined) return undefined;
  if (!mayPatch(context)) {
    throw new CadreError('tool_not_allowed', 'apply_patch is not available to this agent.');
  }
  const start = await runFolder(context.resolve(workdir));
  const folder = found.folder === undefined ? start : await runFolder(within(start, found.folder));
  const resolve = (path: string) => context.resolve(/^~(?:\/|$)/.test(path) ? path : within(folder, path));
  return patch(found.input, { ...context, resolve });
}

/** With the way that works, where a command has called a program `apply_patch` that is not there. */
export function withPatchHint(
  result: ToolResult,
  command: string | string[],
  context: ToolContext,
): ToolResult {
  const { output } = result;
  const isMissing = output.includes('not found')
    ? /apply_?patch: (?:command )?not found/.test(output)
    : output.startsWith('exit code 127');
  if (!isMissing || !namesPatchProgram(command)) return result;
  const hint = mayPatch(context)
    ? 'call the tool apply_patch with the patch as its input; a command works in its place only where it is that alone: apply_patch, a here-document, and nothing else'
    : 'and the tool of that name is not available to this agent';
  return { ...result, output: `${output}\n[apply_patch is no program here: ${hint}]` };
}

function mayPatch({ agent }: ToolContext): boolean {
  const { tool_policy: policy } = agent.settings;
  return isAllowed('apply_patch', policy) && policy.read_only !== true;
}

function within(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}
