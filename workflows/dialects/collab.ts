import type {
  CloseAgentArguments,
  ContentPart,
  SendInputArguments,
  SpawnAgentArguments,
  WaitArguments,
} from '../../protocol/index.ts';
import type { AgentState } from '../agent-state.ts';
import { close } from '../operations/close.ts';
import { send } from '../operations/send.ts';
import { spawn } from '../operations/spawn.ts';
import { wait } from '../operations/wait.ts';

/** One tool call of a dialect: its arguments are checked, its result becomes the output of the call. */
export type DialectTool = (agent: AgentState, callId: string, args: unknown) => Promise<unknown>;

/** The collab vocabulary: spawn_agent, send_input, wait, close_agent. */
export const collab: Record<string, DialectTool> = {
  spawn_agent: async (agent, callId, raw) => {
    const args = raw as SpawnAgentArguments;
    const id = await spawn(agent, {
      callId,
      content: contentOf(args),
      role: args.agent_type,
      persona: args.agent_name,
      model: args.model,
      reasoningEffort: args.reasoning_effort,
      workingDirectory: args.working_directory,
      note: args.thread_note,
      maxTurns: args.max_turns,
      maxSteps: args.max_steps,
      maxRuntimeMs: args.max_runtime_ms,
      forkContext: args.fork_context,
    });
    return { agent_id: id };
  },

  send_input: async (agent, callId, raw) => {
    const args = raw as SendInputArguments;
    return send(agent, { callId, to: args.id, content: contentOf(args), interrupt: args.interrupt });
  },

  wait: async (agent, callId, raw) => {
    const args = raw as WaitArguments;
    return wait(agent, { callId, ids: args.ids, timeoutMs: args.timeout_ms, mode: args.mode });
  },

  close_agent: async (agent, callId, raw) => {
    const args = raw as CloseAgentArguments;
    return close(agent, args.id, callId);
  },
};

/** Tools that start something and wait for nothing, so that several of one answer run side by side. */
export const SIDE_BY_SIDE: ReadonlySet<string> = new Set(['spawn_agent']);

function contentOf(args: { message?: string | undefined; items?: ContentPart[] | undefined }): ContentPart[] {
  return args.items ?? [{ type: 'text', text: args.message ?? '' }];
}
