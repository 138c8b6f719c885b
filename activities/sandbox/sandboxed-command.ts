import type { SandboxMode } from '../../protocol/index.ts';

/** What no command may write to, wherever it lies: it decides what runs later, outside the sandbox. */
export interface OwnPlaces {
  /** CADRE_HOME. */
  stateDir: string;
  /** Files and folders beside it. */
  readOnly?: readonly string[] | undefined;
}

export interface SandboxedCommand extends OwnPlaces {
  mode: Exclude<SandboxMode, 'danger-full-access'>;
  /** The agent's: what `workspace-write` may write to, beside temporary folders. */
  workingDirectory: string;
  /** What it may also write to, and whether it reaches the network: in `workspace-write` alone. */
  open?: { writable_roots: readonly string[]; network: boolean } | undefined;
  /** Where the command starts. */
  cwd: string;
  environment: Readonly<Record<string, string>>;
  argv: readonly string[];
  /** It runs on a terminal that was opened for it alone. */
  hasTerminal?: boolean;
}

/**
 * Whether a variable says which libraries programs load. What starts the sandbox must not get it: a command could put
 * there what the next call runs outside.
 */
export function isForLoader(name: string): boolean {
  return name.startsWith('LD_') || name.startsWith('DYLD_');
}

/** A command that is ready to run inside a sandbox. */
export interface Contained {
  argv: string[];
  /**
   * It has a pid namespace of its own, whose first process and its end are reported on descriptor 3. Without one, it is
   * the command that `argv` becomes, in the process group in which that was started.
   */
  hasNamespace: boolean;
  /**
   * For when nothing of the command runs any more.
   *
   * @returns what the command has done to protected links, and what became of that, a sentence each
   */
  release(): Promise<string[]>;
}

/** Readies a command for the sandbox that works on this machine. */
export type Contain = (command: SandboxedCommand) => Promise<Contained>;

/** Why commands cannot be contained on this machine, and how to mend that. */
export interface NoSandbox {
  works: false;
  reason: string;
  hint: string;
}
