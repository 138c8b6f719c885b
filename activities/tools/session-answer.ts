import { performance } from 'node:perf_hooks';
import { z } from 'zod';
import type { CommandSession } from '../commands/command-session.ts';
import { withNulShown } from '../with-nul-shown.ts';
import { endLine, seconds } from './command-call.ts';
import type { ToolContext, ToolResult } from './define-tool.ts';

/** Beside the time that a call waits: to end a command, and to store what it wrote. */
export const MARGIN_MS = 15_000;
const MOST_YIELD_MS = 600_000;

export const yieldTime = (ms: number) =>
  z
    .int()
    .min(0)
    .max(MOST_YIELD_MS)
    .default(ms)
    .describe('Milliseconds after which to return, though the command goes on');

export const maxOutputTokens = z
  .int()
  .positive()
  .optional()
  .describe('Cut the output to about so many tokens; never more than the usual limit');

/** Types to a command that may go on, waits for it, and tells what it has written, and how it stands. */
export async function lookAt(
  session: CommandSession,
  { commands, signal }: Pick<ToolContext, 'commands' | 'signal'>,
  { chars = '', waitMs, maxTokens }: { chars?: string; waitMs: number; maxTokens: number | undefined },
): Promise<ToolResult> {
  const { id } = session;
  const started = performance.now();
  const untyped = await session.type(chars, waitMs, signal);
  try {
    await session.wait(Math.max(0, waitMs - (performance.now() - started)), signal);
  } catch (error) {
    commands.forget(session, 'it was ended, since the call was interrupted');
    await session.discard();
    throw error;
  }
  const wasOver = session.isOver;
  if (wasOver) commands.forget(session, 'it has ended, and its output was returned');
  const { text, handle, end, notes = [] } = await session.look(maxTokens);
  const head =
    end === undefined ? `still running, session_id ${id}, ${seconds(session.ageMs)}` : endLine(end);
  return {
    output: `${[head, ...(untyped === undefined ? [] : [untyped]), ...notes].join('\n')}\n${withNulShown(text)}`,
    success: untyped === undefined && (end === undefined || end.exitCode === 0),
    command_session: { id, open: end === undefined },
    ...(handle === undefined ? {} : { handle }),
  };
}
