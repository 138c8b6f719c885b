import { type AgentId, isAgentId } from './ids.ts';

const MARK = 'transcript:';

/** The name by which `handle_read` reads the conversation of an agent, as it is at that moment. */
export function transcriptHandle(agent: AgentId): string {
  return `${MARK}${agent}`;
}

/** Whose conversation a handle names; undefined for any other handle. */
export function transcriptAgent(handle: string): AgentId | undefined {
  if (!handle.startsWith(MARK)) return undefined;
  const agent = handle.slice(MARK.length);
  return isAgentId(agent) ? agent : undefined;
}
