import { detectSandbox, type SandboxState } from '../sandbox/detect-sandbox.ts';
import { isWithin } from '../sandbox/is-within.ts';
import { harmlessEnvironment } from '../sandbox/outside-environment.ts';
import { fillableFolders } from '../sandbox/outside-path.ts';
import { SHARED_MEMORY } from '../sandbox/pipes-folder.ts';
import type { Contained } from '../sandbox/sandboxed-command.ts';
import type { ToolContext } from './define-tool.ts';

/** In the place of which a sandbox has its own, where nothing in it may be written to. */
const HIDDEN = ['/run', SHARED_MEMORY];

export interface ContainedReading extends Contained {
  sandboxed: boolean;
  environment: Readonly<Record<string, string>>;
}

/**
 * Readies a program of ours that only reads to see what the agent's commands see, and no more: one of them may lead a
 * link elsewhere while it reads, to what the kernel shows of the processes outside, say.
 */
export async function containedReading(
  argv: string[],
  cwd: string,
  { agent: { settings }, environment: given, stateDir, readOnly }: ToolContext,
  detect: () => Promise<SandboxState> = detectSandbox,
): Promise<ContainedReading> {
  const { sandbox_mode: mode, working_directory: workingDirectory, sandbox: open } = settings;
  const fillable = fillableFolders(workingDirectory, open?.writable_roots);
  const environment = harmlessEnvironment(given, fillable);
  const state = mode === 'danger-full-access' ? undefined : await detect();
  if (mode === 'danger-full-access' || !state?.works)
    return { argv, sandboxed: false, hasNamespace: false, environment, release: async () => [] };
  // It needs no room to write, unless the folder is one that only that shows.
  const isHidden = HIDDEN.some((folder) => isWithin(cwd, folder));
  const command = {
    mode: isHidden ? mode : 'read-only',
    workingDirectory,
    open,
    cwd,
    stateDir,
    readOnly,
    environment,
    argv,
  } as const;
  return { ...(await state.contain(command)), sandboxed: true, environment };
}
