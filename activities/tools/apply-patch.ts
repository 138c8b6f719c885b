import { sep } from 'node:path';
import { z } from 'zod';
import { type AgentSettings, CadreError, refusalOutput, type SandboxMode } from '../../protocol/index.ts';
import { parsePatch } from '../patch/parse-patch.ts';
import { inPatchTurn } from '../patch/patch-turn.ts';
import { planFiles } from '../patch/plan-files.ts';
import type { FileWrite } from '../patch/staged-file.ts';
import { writeFiles } from '../patch/write-files.ts';
import { protectedNames } from '../sandbox/protected-paths.ts';
import type { OwnPlaces } from '../sandbox/sandboxed-command.ts';
import { writablePlaces } from '../sandbox/writable-places.ts';
import { ApprovalNeeded } from './approval-needed.ts';
import { defineTool, type ToolContext, type ToolResult } from './define-tool.ts';

const MOST_PATCH_BYTES = 1_000_000;

export const applyPatch = defineTool({
  name: 'apply_patch',
  description: `Changes text files: all of the patch is applied, or nothing. Between "*** Begin Patch" and "*** End Patch" stands, for each file, "*** Add File: PATH" with every line of it behind a +; "*** Delete File: PATH"; or "*** Update File: PATH", where "*** Move to: PATH" may follow, with hunks. A hunk begins with @@, behind which a line above it may stand that tells where it is (such as that of the function); its lines begin with a blank (kept), - (taken out) or + (put in). Three kept lines above and below are enough. "*** End of File" below a hunk says that it is the last of the file.`,
  effects: 'some',
  parameters: z.strictObject({
    input: z.string().min(1).describe('The patch, from *** Begin Patch to *** End Patch'),
  }),
  summary: ({ input }) => filesIn(input),
  ifLost:
    'All of the patch is there, or nothing of it: look before you send it again. A file .cadre-….old means that one could not be put back; it holds what was there before.',
  run: ({ input }, context) => patch(input, context),
});

/**
 * Applies a patch within what the agent may write to; outside of it a person is asked first. Where it is interrupted it
 * answers what has become of it, which the interrupt alone would not tell.
 *
 * @throws CadreError for a patch that is broken or does not fit, ApprovalNeeded
 */
export async function patch(input: string, context: ToolContext): Promise<string | ToolResult> {
  try {
    return await applied(input, context);
  } catch (error) {
    if (!context.signal.aborted) throw error;
    const isKnown = error instanceof CadreError && !(error instanceof ApprovalNeeded);
    return { output: refusalOutput(isKnown ? error.body : STOPPED), success: false };
  }
}

const STOPPED = {
  code: 'interrupted',
  message: 'The patch was stopped before it began.',
  hint: 'Nothing was changed, in no file.',
} as const;

async function applied(input: string, context: ToolContext): Promise<string> {
  const { resolve, stateDir, signal } = context;
  if (Buffer.byteLength(input) > MOST_PATCH_BYTES) {
    throw new CadreError('invalid_arguments', `The patch is longer than ${MOST_PATCH_BYTES} bytes.`, {
      hint: 'Nothing was changed. Send it in parts.',
    });
  }
  const changes = parsePatch(input);
  return inPatchTurn(signal, async () => {
    const { writes, summary } = await planFiles(changes, resolve, signal);
    const asked = needsApproval(writes, context);
    if (asked !== undefined && !context.approved) throw asked;
    await writeFiles(writes, stateDir, signal);
    return `Applied:\n${summary.join('\n')}`;
  });
}

function needsApproval(
  writes: readonly FileWrite[],
  { agent, ...own }: ToolContext,
): ApprovalNeeded | undefined {
  const { sandbox_mode: mode, approval_policy: policy } = agent.settings;
  const isInside = mayWrite(agent.settings, own);
  const outside = writes.filter(({ path }) => !isInside(path));
  const changed = policy === 'untrusted' ? writes : outside;
  if (changed.length === 0) return undefined;
  const asked = changed.map((write) => `${effectOf(write)} ${write.path}`);
  return new ApprovalNeeded(
    {
      kind: 'patch',
      summary: asked.join(', '),
      reason: reasonFor(outside.length > 0, mode),
      key: JSON.stringify([[...asked].sort(), mode]),
    },
    {
      subject: 'This patch',
      hint: `Nothing was changed, in no file. It is about ${changed.map(({ path }) => path).join(', ')}.`,
    },
  );
}

/** Whoever allows a change has not allowed that the file is taken away. */
function effectOf({ before, content }: FileWrite): 'add' | 'change' | 'delete' {
  if (before === undefined) return 'add';
  return content === undefined ? 'delete' : 'change';
}

function reasonFor(isOutside: boolean, mode: SandboxMode): string {
  if (!isOutside) return 'the approval policy is "untrusted"';
  return mode === 'read-only'
    ? 'the sandbox is read-only'
    : 'it reaches outside of what the sandbox leaves writable';
}

/** What a patch may write without asking: what a command in the sandbox of the agent could. */
function mayWrite(
  { sandbox_mode: mode, working_directory: folder, sandbox }: AgentSettings,
  own: OwnPlaces,
): (path: string) => boolean {
  if (mode !== 'workspace-write') return () => mode === 'danger-full-access';
  const places = writablePlaces({ ...own, workingDirectory: folder, open: sandbox });
  return (path) => {
    const root = places.rootOf(path);
    if (root === undefined) return false;
    // Also where it does not exist yet, and however deep it lies: what is in it decides what runs later.
    // Some file systems take small letters and capitals for the same.
    const below = path.slice(root.length).toLowerCase().split(sep);
    const names = protectedNames(root);
    return !below.some((part) => names.includes(part)) && places.has(path);
  };
}

/** For people who watch; the patch may be broken. */
function filesIn(input: string): string {
  return [...input.matchAll(/^[ \t]*\*\*\* (?:Add|Delete|Update) File:(.*)$/gm)]
    .map(([, path = '']) => path.trim())
    .filter((path) => path !== '')
    .join(', ');
}
