import type {
  AgentCloseArguments,
  AgentEvalArguments,
  AgentOpenArguments,
  SessionProjection,
} from '../../protocol/index.ts';
import { isFinal, type WireStatus } from '../../protocol/status.ts';
import { close } from '../operations/close.ts';
import { evaluate } from '../operations/evaluate.ts';
import { resolveAgent } from '../operations/resolve.ts';
import { spawn } from '../operations/spawn.ts';
import { contentOf } from './content.ts';
import type { Dialect, DialectTool } from './dialect.ts';
import { inWordsOf } from './own-words.ts';
import { projectionOf } from './session-projection.ts';

const tools: Record<string, DialectTool> = {
  agent_open: async (agent, callId, raw): Promise<SessionProjection> => {
    const args = raw as AgentOpenArguments;
    const { id, itemsCarried, notices } = await spawn(agent, {
      callId,
      content: contentOf(args.prompt, args.items) ?? [],
      name: args.name,
      role: args.type ?? args.agent_type,
      allowedTools: args.allowed_tools,
      model: args.model,
      workingDirectory: args.cwd,
      forkContext: args.fork_context,
      maxLevelsBelow: args.max_depth,
      resultSections: true,
    });
    const carried = itemsCarried === undefined ? {} : { items_carried: itemsCarried };
    return { ...projectionOf(agent, id), ...carried, ...(notices === undefined ? {} : { notices }) };
  },

  agent_eval: async (agent, callId, raw): Promise<SessionProjection> => {
    const args = raw as AgentEvalArguments;
    const { id, timedOut, interruptedByInput } = await evaluate(agent, {
      callId,
      whom: whomOf(args),
      content: contentOf(args.message, args.items),
      interrupt: args.interrupt,
      block: args.block,
      timeoutMs: args.timeout_ms,
    });
    return {
      ...projectionOf(agent, id),
      ...(timedOut ? { timed_out: true } : {}),
      ...(interruptedByInput ? { interrupted_by_input: true } : {}),
    };
  },

  agent_close: async (agent, callId, raw): Promise<SessionProjection> => {
    const id = await resolveAgent(agent, whomOf(raw as AgentCloseArguments));
    const known = agent.children.get(id);
    // What has come to its end stays as that, with its answer; what has not is shut down.
    const keepStatus = known !== undefined && isFinal(known.status) && agent.children.hasSettled(id);
    const { status, closed, ...rest } = await close(agent, id, callId, { keepStatus });
    return { ...projectionOf(agent, id), status_before: wordOf(status), closed_agents: closed, ...rest };
  },
};

/** The sessions vocabulary. */
export const sessions: Dialect = {
  tools,
  sideBySide: ['agent_open'],
  refusal: inWordsOf({
    hints: { agent_closed: 'It can be looked at; to go on, open another one (agent_open).' },
    words: {
      '(wait)': '(agent_eval)',
      close_agent: 'agent_close',
      spawn_agent: 'agent_open',
      send_input: 'agent_eval',
      list_agents: 'agent_open',
      list_active_agents: 'agent_eval',
      working_directory: 'cwd',
    },
  }),
};

function whomOf({ name, agent_id: id }: AgentCloseArguments): string {
  return name ?? id ?? '';
}

function wordOf(status: WireStatus): SessionProjection['status'] {
  return typeof status === 'string' ? status : (Object.keys(status)[0] as SessionProjection['status']);
}
