import { statSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { z } from 'zod';
import { CadreError } from '../../protocol/index.ts';
import { ruleFor } from '../policy/approval-rules.ts';
import { type CommandDecision, decideCommand } from '../policy/command-policy.ts';
import { shellLine } from '../policy/command-words.ts';
import type { SandboxState } from '../sandbox/detect-sandbox.ts';
import { harmlessEnvironment, outsideEnvironment } from '../sandbox/outside-environment.ts';
import { fillableFolders } from '../sandbox/outside-path.ts';
import { MOST_PROCESSES, MOST_THREADS } from '../sandbox/process-limits.ts';
import type { Contained } from '../sandbox/sandboxed-command.ts';
import type { SupervisedEnd } from '../sandbox/supervised.ts';
import { ApprovalNeeded } from './approval-needed.ts';
import type { ToolContext } from './define-tool.ts';
import { type EscalationArguments, escalationOf } from './escalation.ts';

/** What fits into one argument of a program. */
const MOST_COMMAND_BYTES = 100_000;

const withoutNul = (text: string): boolean => !text.includes('\0');
const NUL = { error: 'contains a NUL byte' };

/** A line for the shell. */
export const commandLine = z
  .string()
  .refine((text) => text.trim() !== '', { error: 'is blank' })
  .refine(withoutNul, NUL);
export const commandWords = z.array(z.string().refine(withoutNul, NUL)).min(1);
export const commandFolder = z
  .string()
  .min(1)
  .refine(withoutNul, NUL)
  .optional()
  .describe('Where it runs; default: the working directory');

/** A command as a model asks for it. */
export interface CommandCall extends EscalationArguments {
  command: string | string[];
  workdir?: string | undefined;
  /** It gets a terminal, by which others than its words may say what it does. */
  hasTerminal?: boolean;
}
type RunningDecision = Exclude<CommandDecision, { run: 'unapproved' }>;

/** A command that may run, and as what. */
export interface RunnableCommand extends Contained {
  cwd: string;
  environment: Record<string, string>;
  /** `argv` starts it in a sandbox. */
  sandboxed: boolean;
}

/**
 * What all tools that run commands have in common: checks a call, and decides whether and how it runs.
 *
 * @throws CadreError `invalid_arguments`, or `ApprovalNeeded` where a person has to allow it first
 */
export async function runnable(
  call: CommandCall,
  context: ToolContext,
  sandbox: SandboxState,
): Promise<RunnableCommand> {
  const { command, hasTerminal = false } = call;
  if (Buffer.byteLength(textOf(command)) > MOST_COMMAND_BYTES) {
    throw new CadreError('invalid_arguments', `The command is longer than ${MOST_COMMAND_BYTES} bytes.`, {
      hint: 'Write the long part to a file first.',
    });
  }
  // It runs where it was judged, wherever a link leads meanwhile.
  const cwd = await runFolder(context.resolve(call.workdir ?? '.'));
  const { settings } = context.agent;
  const { approved, approvalRules: rules = [] } = context;
  const asked = { command, cwd, approved, rules, escalation: escalationOf(call, context) };
  const decided = decideCommand(asked, settings, sandbox);
  const decision = decided.run === 'harmless' && hasTerminal ? onTerminal(approved) : decided;
  if (decision.run === 'unapproved') throw await approvalFor(command, cwd, decision, context);
  return { ...(await invocation(command, cwd, decision, context, hasTerminal)), cwd };
}

export function textOf(command: CommandCall['command']): string {
  return typeof command === 'string' ? command : command.join(' ');
}

/** What only reads may do more once somebody types: a pager runs commands. */
function onTerminal(approved: boolean): CommandDecision {
  if (approved) return { run: 'free', approved };
  return {
    run: 'unapproved',
    contained: false,
    reason: 'it would run on a terminal, and nothing would contain what is typed there',
    hint: 'Commands that only read run without a terminal: leave out tty.',
  };
}

/**
 * A folder to run in, links resolved.
 *
 * @throws CadreError `invalid_arguments` for one in which nothing can run
 */
export async function runFolder(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  const found = real === undefined ? undefined : await stat(real).catch(() => undefined);
  if (real !== undefined && found?.isDirectory()) return real;
  const problem = found === undefined ? 'does not exist' : 'is not a folder';
  throw new CadreError('invalid_arguments', `The folder to run in ${problem}: ${path}`);
}

/** The same line, run in another folder or without what would contain it, is another question. */
async function approvalFor(
  command: CommandCall['command'],
  cwd: string,
  { reason, hint, contained }: Extract<CommandDecision, { run: 'unapproved' }>,
  context: ToolContext,
): Promise<ApprovalNeeded> {
  const line = shellLine(command);
  // Allowed for an agent that only reads, it is not allowed for one that may write, nor the other way round.
  const mode = context.agent.settings.sandbox_mode;
  const usual = await realpath(context.resolve('.')).catch(() => undefined);
  const elsewhere = cwd === usual ? '' : ` (in ${cwd})`;
  const rule = ruleFor({ command, cwd, mode, contained });
  return new ApprovalNeeded(
    {
      kind: 'command',
      summary: `${line}${elsewhere}`,
      reason,
      key: JSON.stringify([line, cwd, contained ? 'contained' : 'free', mode]),
      ...(rule === undefined ? {} : { rule }),
    },
    { subject: 'This command', hint },
  );
}

async function invocation(
  command: CommandCall['command'],
  cwd: string,
  decision: RunningDecision,
  context: ToolContext,
  hasTerminal: boolean,
): Promise<Omit<RunnableCommand, 'cwd'>> {
  const environment = { ...context.environment };
  const free = { environment, sandboxed: false, hasNamespace: false, release: async () => [] };
  const { sandbox_mode: mode, working_directory: workingDirectory, sandbox } = context.agent.settings;
  const fillable = fillableFolders(workingDirectory, sandbox?.writable_roots);
  const script = decision.run === 'free' ? undefined : decision.script;
  const reading = { ...harmlessEnvironment(environment, fillable) };
  if (decision.run === 'harmless')
    return { ...free, argv: ['/bin/sh', '-c', decision.script], environment: reading };
  const argv =
    typeof command === 'string'
      ? [lineShell(), '-c', command]
      : ['/bin/sh', '-c', 'exec "$@"', 'sh', ...command];
  if (decision.run === 'free') {
    if (!decision.approved) return { ...free, argv };
    return { ...free, argv, environment: { ...outsideEnvironment(environment, fillable) } };
  }
  const own = script === undefined ? environment : reading;
  const contained = await decision.contain({
    mode: mode === 'read-only' ? mode : ('workspace-write' as const),
    workingDirectory,
    open: sandbox,
    cwd,
    stateDir: context.stateDir,
    readOnly: context.readOnly,
    environment: own,
    argv: script === undefined ? argv : ['/bin/sh', '-c', script],
    hasTerminal,
  });
  return { ...contained, environment: own, sandboxed: true };
}

/** Models write for bash; a plain sh has to do where there is none. */
function lineShell(): string {
  const found = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash', '/run/current-system/sw/bin/bash'].find(
    (path) => statSync(path, { throwIfNoEntry: false })?.isFile(),
  );
  return found ?? '/bin/sh';
}

/** How a command has ended, in words. */
export function endLine(end: SupervisedEnd): string {
  if (end.tooMany !== undefined) {
    const { processes, threads } = end.tooMany;
    return `stopped, since it had ${processes} processes with ${threads} threads at once, and ${MOST_PROCESSES} and ${MOST_THREADS} is the most (exit code ${end.exitCode}, ${seconds(end.durationMs)})`;
  }
  return `exit code ${end.exitCode}${signalNote(end)}, ${seconds(end.durationMs)}`;
}

/**
 * When a signal has ended a program, shells and bubblewrap end with 128 and its number. Since any program may end with that
 * code, it is not certain then.
 */
function signalNote({ exitCode, signal }: SupervisedEnd): string {
  if (signal !== undefined) return ` (${signal})`;
  const [name] =
    Object.entries(constants.signals).find(
      ([name, number]) => number === exitCode - 128 && !ENDS_NOTHING.has(name),
    ) ?? [];
  return name === undefined ? '' : ` (as after ${name})`;
}

const ENDS_NOTHING = new Set([
  ...['SIGCHLD', 'SIGCONT', 'SIGURG', 'SIGWINCH', 'SIGINFO'],
  ...['SIGSTOP', 'SIGTSTP', 'SIGTTIN', 'SIGTTOU'],
]);

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
