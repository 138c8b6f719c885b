import type {
  CloseAgentArguments,
  ListActiveAgentsArguments,
  ResumeAgentArguments,
  SendInputArguments,
  SetThreadNoteArguments,
  SpawnAgentArguments,
  WaitArguments,
} from '../../protocol/index.ts';
import { close } from '../operations/close.ts';
import { list } from '../operations/list.ts';
import { setNote } from '../operations/note.ts';
import { resume } from '../operations/resume.ts';
import { send } from '../operations/send.ts';
import { spawn } from '../operations/spawn.ts';
import { wait } from '../operations/wait.ts';
import { contentOf } from './content.ts';
import type { Dialect, DialectTool } from './dialect.ts';

const tools: Record<string, DialectTool> = {
  spawn_agent: async (agent, callId, raw) => {
    const args = raw as SpawnAgentArguments;
    const { id, itemsCarried } = await spawn(agent, {
      callId,
      content: contentOf(args.message, args.items) ?? [],
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
    if (args.fork_context !== true) return { agent_id: id };
    return { agent_id: id, context_mode: 'forked', items_carried: itemsCarried ?? 0 };
  },

  send_input: async (agent, callId, raw) => {
    const args = raw as SendInputArguments;
    return send(agent, {
      callId,
      to: args.id,
      content: contentOf(args.message, args.items) ?? [],
      interrupt: args.interrupt,
    });
  },

  wait: async (agent, callId, raw) => {
    const args = raw as WaitArguments;
    return wait(agent, { callId, ids: args.ids, timeoutMs: args.timeout_ms, mode: args.mode });
  },

  close_agent: async (agent, callId, raw) => {
    const args = raw as CloseAgentArguments;
    return close(agent, args.id, callId);
  },

  resume_agent: async (agent, callId, raw) => {
    const { id } = raw as ResumeAgentArguments;
    const { status } = await resume(agent, id, { callId, recursive: false });
    return { status };
  },

  list_active_agents: async (agent, _callId, raw) => {
    const args = raw as ListActiveAgentsArguments;
    return list(agent, {
      scope: args.scope,
      includeTree: args.include_tree,
      includeClosed: args.include_closed,
    });
  },

  set_thread_note: async (agent, _callId, raw) => {
    const { id, note } = raw as SetThreadNoteArguments;
    return setNote(agent, id, note);
  },
};

/** The collab vocabulary. */
export const collab: Dialect = { tools, sideBySide: ['spawn_agent'] };
