import type { AgentId, ErrorBody } from '../../protocol/index.ts';
import { archiveAgent, bodyOf } from '../activity-calls.ts';
import type { AgentState } from '../agent-state.ts';
import { close } from './close.ts';
import { Refused } from './refused.ts';
import { ownSubAgent } from './reply.ts';

export interface EndRequest {
  callId: string;
  id: string;
  /** Whether its conversation is archived. */
  persist: boolean;
  /** Where, in place of the usual folder. */
  archiveTo: string | undefined;
}

export interface EndResult {
  id: AgentId;
  archivedPath?: string;
  /** It is closed, and could not be archived. */
  error?: ErrorBody;
}

/**
 * Closes a sub-agent with all below it, and writes what they were to a file on the host of the workspace.
 *
 * @throws Refused for a place that this agent may not write to, or where something is: then nothing was closed
 */
export async function end(agent: AgentState, request: EndRequest): Promise<EndResult> {
  const { callId, persist, archiveTo } = request;
  const id = await ownSubAgent(agent, request.id);
  const { working_directory, sandbox_mode, sandbox } = agent.settings;
  const asked = {
    session_id: agent.identity.session_id,
    agent_id: id,
    writer: { working_directory, sandbox_mode, ...(sandbox === undefined ? {} : { sandbox }) },
    ...(archiveTo === undefined ? {} : { archive_to: archiveTo }),
  };
  if (persist && archiveTo !== undefined) {
    const checked = await archiveAgent({ ...asked, only_check: true });
    if (!checked.ok) throw new Refused(checked.error);
  }
  await close(agent, id, callId, { keepStatus: true });
  if (!persist) return { id };
  try {
    const archived = await archiveAgent(asked);
    if (!archived.ok) return { id, error: archived.error };
    return { id, ...(archived.path === null ? {} : { archivedPath: archived.path }) };
  } catch (error) {
    return { id, error: bodyOf(error) };
  }
}
