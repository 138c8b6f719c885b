import { contain } from './contained.ts';
import { probeBubblewrap } from './probe-bubblewrap.ts';
import { probeSandboxExec } from './probe-sandbox-exec.ts';
import type { Contain, NoSandbox } from './sandboxed-command.ts';
import { containBySeatbelt } from './seatbelt.ts';

export type SandboxState = { works: true; contain: Contain; version: string } | NoSandbox;

/** What a person is told about containment on this machine. */
export interface SandboxReport {
  works: boolean;
  /** `bubblewrap 0.8.0`, or why there is none. */
  detail: string;
  /** How to mend it, when it does not work. */
  hint?: string;
}

let known: Promise<SandboxState> | undefined;

/** Finds out, once in the life of the process, whether commands can be contained here. */
export function detectSandbox(): Promise<SandboxState> {
  known ??= probeSandbox();
  return known;
}

export async function sandboxReport(
  detect: () => Promise<SandboxState> = detectSandbox,
): Promise<SandboxReport> {
  const state = await detect();
  if (state.works) return { works: true, detail: state.version };
  return {
    works: false,
    detail: `${state.reason}; without a sandbox only commands known to be harmless run`,
    hint: state.hint,
  };
}

async function probeSandbox(): Promise<SandboxState> {
  if (process.platform === 'linux') {
    const found = await probeBubblewrap();
    if (!found.works) return found;
    return { ...found, contain: (command) => contain(found.bubblewrap, command) };
  }
  if (process.platform === 'darwin') {
    const found = await probeSandboxExec();
    if (!found.works) return found;
    return { ...found, contain: (command) => containBySeatbelt(command) };
  }
  return {
    works: false,
    reason: `there is no sandbox for ${process.platform} yet`,
    hint: 'Use sandbox_mode = "danger-full-access" where commands may do everything.',
  };
}
