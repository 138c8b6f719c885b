import { statSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { z } from 'zod';
import { CadreError } from '../../protocol/index.ts';
import { OutputCollector } from '../handles/output-collector.ts';
import { patchInCommand } from '../patch/wrapping.ts';
import { ruleFor } from '../sandbox/approval-rules.ts';
import { type CommandDecision, decideCommand } from '../sandbox/command-policy.ts';
import { shellLine } from '../sandbox/command-words.ts';
import { type Contained, contain } from '../sandbox/contained.ts';
import { detectSandbox, type SandboxState } from '../sandbox/detect-sandbox.ts';
import { HARMLESS_PATH } from '../sandbox/harmless.ts';
import { MOST_PROCESSES, MOST_THREADS } from '../sandbox/process-limits.ts';
import { runSupervised, type SupervisedEnd } from '../sandbox/supervised.ts';
import { patch } from './apply-patch.ts';
import { ApprovalNeeded } from './approval-needed.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from './define-tool.ts';
import { escalationOf, escalationParameters } from './escalation.ts';
import { isAllowed } from './tool-policy.ts';

const DEFAULT_TIMEOUT_MS = 120_000;
const MOST_TIMEOUT_MS = 24 * 3_600_000;
/** What fits into one argument of a program. */
const MOST_COMMAND_BYTES = 100_000;
/** Beside the command's own time: to end it, and to store what it wrote. */
const MARGIN_MS = 15_000;

const withoutNul = (text: string): boolean => !text.includes('\0');
const NUL = { error: 'contains a NUL byte' };

const parameters = z.strictObject({
  command: z
    .union([
      z
        .string()
        .refine((text) => text.trim() !== '', { error: 'is blank' })
        .refine(withoutNul, NUL),
      z.array(z.string().refine(withoutNul, NUL)).min(1),
    ])
    .describe('A line for the shell, or program and arguments'),
  workdir: z
    .string()
    .min(1)
    .refine(withoutNul, NUL)
    .optional()
    .describe('Where it runs; default: the working directory'),
  timeout_ms: z
    .int()
    .positive()
    .max(MOST_TIMEOUT_MS)
    .default(DEFAULT_TIMEOUT_MS)
    .describe('Milliseconds after which the command is stopped'),
  ...escalationParameters,
});
type ShellArguments = z.output<typeof parameters>;
type RunningDecision = Exclude<CommandDecision, { run: 'unapproved' }>;

/** Runs commands, contained as the agent's sandbox mode says; nothing they start outlives the call. */
export function createShell(detect: () => Promise<SandboxState> = detectSandbox): Tool {
  return defineTool({
    name: 'shell',
    aliases: ['local_shell'],
    description:
      'Runs a command and returns its exit code and its output, errors included, in the order in which they were written. It gets no input, and what it leaves running in the background is stopped.',
    effects: 'some',
    parameters,
    timeoutMs: ({ timeout_ms }) => timeout_ms + MARGIN_MS,
    summary: ({ command }) => (typeof command === 'string' ? command : command.join(' ')),
    async run(args, context) {
      const { command } = args;
      const input = patchInCommand(command);
      if (input !== undefined && args.workdir === undefined) return patchAsTool(input, context);
      if (Buffer.byteLength(typeof command === 'string' ? command : command.join(' ')) > MOST_COMMAND_BYTES) {
        throw new CadreError('invalid_arguments', `The command is longer than ${MOST_COMMAND_BYTES} bytes.`, {
          hint: 'Write the long part to a file first.',
        });
      }
      const cwd = await folder(context.resolve(args.workdir ?? '.'));
      const { settings } = context.agent;
      const { approved, approvalRules: rules = [] } = context;
      const escalation = escalationOf(args, context);
      const asked = { command, cwd, approved, rules, escalation };
      const decision = decideCommand(asked, settings, await detect());
      if (decision.run === 'unapproved') throw await approvalFor(command, cwd, decision, context);
      return runCommand(args, cwd, decision, context);
    },
  });
}

export const shell = createShell();

/** Models that know `apply_patch` as a program call it so; whoever may not patch may not in this way either. */
async function patchAsTool(input: string, context: ToolContext): Promise<string> {
  const { tool_policy: policy } = context.agent.settings;
  if (!isAllowed('apply_patch', policy) || policy.read_only === true) {
    throw new CadreError('tool_not_allowed', 'apply_patch is not available to this agent.');
  }
  return patch(input, context);
}

async function folder(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) return path;
  const problem = found === undefined ? 'does not exist' : 'is not a folder';
  throw new CadreError('invalid_arguments', `The folder to run in ${problem}: ${path}`);
}

/** The same line, run in another folder or without what would contain it, is another question. */
async function approvalFor(
  command: ShellArguments['command'],
  cwd: string,
  { reason, hint, contained }: Extract<CommandDecision, { run: 'unapproved' }>,
  context: ToolContext,
): Promise<ApprovalNeeded> {
  const line = shellLine(command);
  // Allowed for an agent that only reads, it is not allowed for one that may write, nor the other way round.
  const mode = context.agent.settings.sandbox_mode;
  const elsewhere = cwd === context.resolve('.') ? '' : ` (in ${cwd})`;
  const rule = ruleFor({ command, cwd, mode, contained });
  return new ApprovalNeeded(
    {
      kind: 'command',
      summary: `${line}${elsewhere}`,
      reason,
      key: JSON.stringify([line, await realpath(cwd), contained ? 'contained' : 'free', mode]),
      ...(rule === undefined ? {} : { rule }),
    },
    { subject: 'This command', hint },
  );
}

async function runCommand(
  args: ShellArguments,
  cwd: string,
  decision: RunningDecision,
  context: ToolContext,
): Promise<ToolResult> {
  const { settings } = context.agent;
  const collector = new OutputCollector({
    stateDir: context.stateDir,
    limitTokens: settings.limits.tool_output_limit,
  });
  try {
    const { release, ...invoked } = await invocation(args.command, cwd, decision, context);
    let notes: string[] = [];
    const end = await runSupervised({
      ...invoked,
      cwd,
      signal: context.signal,
      timeoutMs: args.timeout_ms,
      onOutput: (chunk) => collector.write(chunk),
    }).finally(async () => {
      notes = await release();
    });
    const { text, handle } = await collector.finish();
    return {
      output: `${[headline(end, args.timeout_ms), ...notes].join('\n')}\n${withoutNuls(text)}`,
      success: end.exitCode === 0 && !end.timedOut && end.tooMany === undefined,
      ...(handle === undefined ? {} : { handle }),
    };
  } catch (error) {
    await collector.discard();
    throw error;
  }
}

async function invocation(
  command: ShellArguments['command'],
  cwd: string,
  decision: RunningDecision,
  context: ToolContext,
): Promise<Contained & { environment: Record<string, string>; sandboxed: boolean }> {
  const environment = { ...context.environment };
  const free = { environment, sandboxed: false, release: async () => [] };
  if (decision.run === 'harmless') {
    const argv = ['/bin/sh', '-c', decision.script];
    return { ...free, argv, environment: { ...environment, PATH: HARMLESS_PATH } };
  }
  const argv =
    typeof command === 'string'
      ? [lineShell(), '-c', command]
      : ['/bin/sh', '-c', 'exec "$@"', 'sh', ...command];
  if (decision.run === 'free') return { ...free, argv };
  const { sandbox_mode: mode, working_directory: workingDirectory, sandbox } = context.agent.settings;
  const contained = await contain(decision.bubblewrap, {
    mode: mode === 'read-only' ? mode : ('workspace-write' as const),
    workingDirectory,
    open: sandbox,
    cwd,
    stateDir: context.stateDir,
    environment,
    argv,
  });
  return { ...contained, environment, sandboxed: true };
}

/** Models write for bash; a plain sh has to do where there is none. */
function lineShell(): string {
  const found = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash', '/run/current-system/sw/bin/bash'].find(
    (path) => statSync(path, { throwIfNoEntry: false })?.isFile(),
  );
  return found ?? '/bin/sh';
}

function headline(end: SupervisedEnd, timeoutMs: number): string {
  const seconds = `${(end.durationMs / 1_000).toFixed(1)} s`;
  if (end.timedOut)
    return `stopped after the time limit of ${timeoutMs} ms (exit code ${end.exitCode}, ${seconds})`;
  if (end.tooMany !== undefined)
    return `stopped, since it had ${end.tooMany.processes} processes with ${end.tooMany.threads} threads at once, and ${MOST_PROCESSES} and ${MOST_THREADS} is the most (exit code ${end.exitCode}, ${seconds})`;
  const signal = end.signal === undefined ? '' : ` (${end.signal})`;
  return `exit code ${end.exitCode}${signal}, ${seconds}`;
}

/** Some providers refuse texts with NUL characters; the picture for it stands in. */
function withoutNuls(text: string): string {
  return text.replaceAll('\0', '\u2400');
}
