import { isAbsolute, join } from 'node:path';
import { CommandSessions } from '../../../activities/commands/command-sessions.ts';
import type { ReadTranscript } from '../../../activities/handles/transcripts.ts';
import type { ToolContext } from '../../../activities/tools/define-tool.ts';
import {
  type AgentContext,
  type AgentId,
  type AgentSettings,
  agentSettingsSchema,
  type SessionSettings,
  sessionSettingsSchema,
} from '../../../protocol/index.ts';

const ROOT = 'a0k3v9x2m4qd7' as AgentId;

type SettingsInput = Partial<AgentSettings> & { working_directory: string };

export function agentIn(settings: SettingsInput, depth = 0): AgentContext {
  return {
    agent_id: (depth === 0 ? ROOT : `${ROOT}/worker-1`) as AgentId,
    session_id: ROOT,
    depth,
    turn: 1,
    step: 1,
    settings: agentSettingsSchema.parse({ model: 'm', provider: 'script', ...settings }),
  };
}

export function sessionWith(settings: Record<string, unknown> = {}): SessionSettings {
  return sessionSettingsSchema.parse(settings);
}

/** What a tool gets when it runs in `folder`. */
export function contextIn(
  folder: string,
  options: {
    settings?: Partial<AgentSettings>;
    signal?: AbortSignal;
    environment?: Record<string, string>;
    approved?: boolean;
    readTranscript?: ReadTranscript;
    commands?: CommandSessions;
    seesImages?: boolean;
  } = {},
): ToolContext {
  return {
    agent: agentIn({ ...options.settings, working_directory: folder }),
    callId: 'call_1',
    environment: options.environment ?? { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: folder },
    signal: options.signal ?? new AbortController().signal,
    approved: options.approved ?? false,
    nonInteractive: true,
    seesImages: options.seesImages ?? true,
    stateDir: join(folder, '.state'),
    readTranscript: options.readTranscript ?? noTranscripts,
    commands: options.commands ?? new CommandSessions(),
    resolve: (path) => (isAbsolute(path) ? path : join(folder, path)),
  };
}

export const noTranscripts: ReadTranscript = (agent) => {
  throw new Error(`no transcript of ${agent} in this test`);
};
