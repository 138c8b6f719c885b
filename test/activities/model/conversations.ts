import type { ModelCall } from '../../../activities/model/providers/provider.ts';
import {
  type AgentContext,
  type AgentId,
  agentSettingsSchema,
  type ConversationPointer,
  EMPTY_DIGEST,
  extendDigest,
  type Item,
  type SessionSettings,
  sessionSettingsSchema,
  type ToolOutput,
} from '../../../protocol/index.ts';

export const AGENT = 'a0k3v9x2m4qd7' as AgentId;

export function pointerTo(items: readonly Item[], agent_id = AGENT): ConversationPointer {
  return { agent_id, run_id: 'run-1', count: items.length, digest: items.reduce(extendDigest, EMPTY_DIGEST) };
}

export function agentContext(
  settings: Record<string, unknown> = {},
  rest: Partial<AgentContext> = {},
): AgentContext {
  return {
    agent_id: AGENT,
    session_id: AGENT,
    depth: 0,
    turn: 1,
    step: 1,
    settings: agentSettingsSchema.parse({
      model: 'test-model',
      provider: 'local',
      working_directory: '/tmp',
      ...settings,
    }),
    ...rest,
  };
}

export function sessionSettings(settings: Record<string, unknown> = {}): SessionSettings {
  return sessionSettingsSchema.parse(settings);
}

export function modelCall(items: Item[], rest: Partial<ModelCall> = {}): ModelCall {
  return {
    agent: { id: AGENT, role: 'default' },
    attempt: 1,
    model: 'test-model',
    working_directory: '/tmp',
    instructions: 'Be brief.',
    items,
    tools: [{ name: 'list_dir', description: 'Lists.', parameters: { type: 'object', properties: {} } }],
    ...rest,
  };
}

export function toolCall(call_id: string, name = 'list_dir', args = '{}'): Item {
  return { type: 'tool_call', call_id, name, arguments: args };
}

export function toolOutput(call_id: string, output = `output of ${call_id}`): ToolOutput {
  return { type: 'tool_output', call_id, output, success: true };
}

export function said(text: string): Item {
  return { type: 'assistant_message', text };
}
