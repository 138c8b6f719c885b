import { z } from 'zod';
import { CadreError, refusalOutput } from '../../protocol/index.ts';
import type { CommandSession } from '../commands/command-session.ts';
import { ApprovalNeeded } from './approval-needed.ts';
import { defineTool, type ToolContext, type ToolResult } from './define-tool.ts';
import { lookAt, MARGIN_MS, maxOutputTokens, yieldTime } from './session-answer.ts';

const DEFAULT_YIELD_MS = 1_000;
const MOST_CHARACTERS = 50_000;
/** Ctrl-C and Ctrl-D tell a program to stop, and nothing else. */
const STOPS = ['\u0003', '\u0004'];

const parameters = z.strictObject({
  session_id: z.int().positive().describe('As exec_command has returned it'),
  chars: z
    .string()
    .max(MOST_CHARACTERS)
    .default('')
    .describe('Typed as they are: "\\n" is Enter, "\\u0003" Ctrl-C, "\\u0004" Ctrl-D; none: only look'),
  yield_time_ms: yieldTime(DEFAULT_YIELD_MS),
  max_output_tokens: maxOutputTokens,
});

/** Types to a command that `exec_command` has left running, and looks at what it says. */
export const writeStdin = defineTool({
  name: 'write_stdin',
  description:
    'Types to a session of exec_command, and returns what it has written since it was looked at last, and its exit code once it has ended. It waits for yield_time_ms, or until the command ends.',
  effects: 'some',
  parameters,
  timeoutMs: ({ yield_time_ms }) => yield_time_ms + MARGIN_MS,
  commandSession: ({ session_id }) => session_id,
  summary: ({ session_id, chars }) => `${session_id}${chars === '' ? '' : ` ${JSON.stringify(chars)}`}`,
  async run({ session_id, chars, yield_time_ms, max_output_tokens }, context) {
    context.signal.throwIfAborted();
    const session = heldFor(session_id, context);
    if ('output' in session) return session;
    const asks = session.command.asksForInput && !session.isOver && !isHarmless(chars);
    if (asks && !context.approved) throw approvalFor(session, chars);
    return lookAt(session, context, { chars, waitMs: yield_time_ms, maxTokens: max_output_tokens });
  },
});

/** What is not there is said to be over, so that the agent does not count on it. */
function heldFor(id: number, { agent, commands }: ToolContext): CommandSession | ToolResult {
  try {
    return commands.of(agent.agent_id, id);
  } catch (error) {
    if (!(error instanceof CadreError)) throw error;
    return { output: refusalOutput(error.body), success: false, command_session: { id, open: false } };
  }
}

function isHarmless(chars: string): boolean {
  return [...chars].every((char) => STOPS.includes(char));
}

/** What is typed to a shell is a command like any other. */
function approvalFor({ id, command }: CommandSession, chars: string): ApprovalNeeded {
  return new ApprovalNeeded(
    {
      kind: 'command',
      summary: `type ${JSON.stringify(chars)} to ${command.title} (session ${id})`,
      reason: command.sandboxed
        ? 'the approval policy is "untrusted"'
        : 'nothing contains what is typed to this command',
      key: JSON.stringify(['type', id, chars]),
    },
    { subject: 'This input', hint: 'Ctrl-C, Ctrl-D and looking at its output need no approval.' },
  );
}
