import { z } from 'zod';
import { OutputCollector } from '../handles/output-collector.ts';
import { detectSandbox, type SandboxState } from '../sandbox/detect-sandbox.ts';
import { SandboxFailure } from '../sandbox/sandbox-failure.ts';
import { runSupervised, type SupervisedEnd } from '../sandbox/supervised.ts';
import { withNulShown } from '../with-nul-shown.ts';
import {
  commandFolder,
  commandLine,
  commandWords,
  endLine,
  runnable,
  seconds,
  textOf,
} from './command-call.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from './define-tool.ts';
import { escalationParameters } from './escalation.ts';
import { patchByCommand, withPatchHint } from './patch-command.ts';

const DEFAULT_TIMEOUT_MS = 120_000;
const MOST_TIMEOUT_MS = 24 * 3_600_000;
/** What its sandbox is made of may come and go while that is set up. */
const ATTEMPTS = 3;
/** Beside the command's own time: to end it, and to store what it wrote. */
const MARGIN_MS = 15_000;

const parameters = z.strictObject({
  command: z.union([commandLine, commandWords]).describe('A line for the shell, or program and arguments'),
  workdir: commandFolder,
  timeout_ms: z
    .int()
    .positive()
    .max(MOST_TIMEOUT_MS)
    .default(DEFAULT_TIMEOUT_MS)
    .describe('Milliseconds after which the command is stopped'),
  ...escalationParameters,
});
type ShellArguments = z.output<typeof parameters>;

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
    summary: ({ command }) => textOf(command),
    async run(args, context) {
      const patched = await patchByCommand(args, context);
      if (patched !== undefined) return patched;
      return withPatchHint(await runCommand(args, context, await detect()), args.command, context);
    },
  });
}

export const shell = createShell();

async function runCommand(
  args: ShellArguments,
  context: ToolContext,
  sandbox: SandboxState,
  attempts = ATTEMPTS,
): Promise<ToolResult> {
  const { release, ...command } = await runnable(args, context, sandbox);
  const collector = new OutputCollector({
    stateDir: context.stateDir,
    limitTokens: context.agent.settings.limits.tool_output_limit,
  });
  try {
    let notes: string[] = [];
    const end = await runSupervised({
      ...command,
      signal: context.signal,
      timeoutMs: args.timeout_ms,
      onOutput: (chunk) => collector.write(chunk),
    }).finally(async () => {
      notes = await release();
    });
    const { text, handle } = await collector.finish();
    return {
      output: `${[headline(end, args.timeout_ms), ...notes].join('\n')}\n${withNulShown(text)}`,
      success: end.exitCode === 0 && !end.timedOut && end.tooMany === undefined,
      ...(handle === undefined ? {} : { handle }),
    };
  } catch (error) {
    await collector.discard();
    if (error instanceof SandboxFailure && attempts > 1)
      return await runCommand(args, context, sandbox, attempts - 1);
    throw error;
  }
}

function headline(end: SupervisedEnd, timeoutMs: number): string {
  if (!end.timedOut) return endLine(end);
  const spent = seconds(end.durationMs);
  return `stopped after the time limit of ${timeoutMs} ms (exit code ${end.exitCode}, ${spent})`;
}
