import { z } from 'zod';
import type { CommandSession, SessionCommand } from '../commands/command-session.ts';
import type { CommandSessions } from '../commands/command-sessions.ts';
import { detectSandbox, type SandboxState } from '../sandbox/detect-sandbox.ts';
import { commandFolder, commandLine, runnable } from './command-call.ts';
import { defineTool, type Tool } from './define-tool.ts';
import { escalationParameters } from './escalation.ts';
import { patchByCommand, withPatchHint } from './patch-command.ts';
import { lookAt, MARGIN_MS, maxOutputTokens, yieldTime } from './session-answer.ts';

const DEFAULT_YIELD_MS = 10_000;

/** Programs that draw on a terminal, or page, are told that nobody looks at it. */
const ON_TERMINAL = { TERM: 'dumb', PAGER: 'cat', GIT_PAGER: 'cat' };

const parameters = z.strictObject({
  cmd: commandLine.describe('A line for the shell'),
  workdir: commandFolder,
  tty: z
    .boolean()
    .default(false)
    .describe('Run it on a terminal, so that write_stdin can type to it; without one it gets no input'),
  yield_time_ms: yieldTime(DEFAULT_YIELD_MS),
  max_output_tokens: maxOutputTokens,
  ...escalationParameters,
});

/** Runs commands that may go on between calls, contained as those of `shell` are. */
export function createExecCommand(detect: () => Promise<SandboxState> = detectSandbox): Tool {
  return defineTool({
    name: 'exec_command',
    description:
      'Runs a command and returns its exit code and output; one that takes longer than yield_time_ms goes on as a session, whose session_id is returned with the output so far. write_stdin looks at it again, and types to it. Sessions end with the agent.',
    effects: 'some',
    parameters,
    timeoutMs: ({ yield_time_ms }) => yield_time_ms + MARGIN_MS,
    summary: ({ cmd }) => cmd,
    async run({ cmd, tty, yield_time_ms, max_output_tokens, ...args }, context) {
      context.signal.throwIfAborted();
      const patched = await patchByCommand({ command: cmd, workdir: args.workdir }, context);
      if (patched !== undefined) return patched;
      const { agent, commands, stateDir } = context;
      const { settings } = agent;
      const call = { ...args, command: cmd, hasTerminal: tty };
      const command = await runnable(call, context, await detect());
      const { sandboxed, environment } = command;
      const isContained = sandboxed || settings.sandbox_mode === 'danger-full-access';
      const session = await begun(commands, {
        ...command,
        agent: agent.agent_id,
        environment: tty ? { ...environment, ...ON_TERMINAL } : environment,
        hasTerminal: tty,
        asksForInput: settings.approval_policy === 'untrusted' || !isContained,
        title: cmd,
        stateDir,
        limitTokens: settings.limits.tool_output_limit,
      });
      const look = { waitMs: yield_time_ms, maxTokens: max_output_tokens };
      return withPatchHint(await lookAt(session, context, look), cmd, context);
    },
  });
}

/** What was readied for a command that cannot begin is given back. */
async function begun(commands: CommandSessions, command: SessionCommand): Promise<CommandSession> {
  try {
    return commands.begin(command);
  } catch (error) {
    await command.release();
    throw error;
  }
}

export const execCommand = createExecCommand();
