import { nameOf } from '../../protocol/ids.ts';
import type { AgentId, SessionProjection, Status } from '../../protocol/index.ts';
import { readSections } from '../../protocol/result-sections.ts';
import { isFinal } from '../../protocol/status.ts';
import { transcriptHandle } from '../../protocol/transcript-handle.ts';
import type { AgentState } from '../agent-state.ts';

/** How a session stands, as this agent knows it. */
export function projectionOf(agent: AgentState, id: AgentId): SessionProjection {
  const { children } = agent;
  const known = children.get(id);
  // What was sent to it is on its way, so that its last answer is none to that.
  const isUnderWay = known !== undefined && isFinal(known.status) && !children.hasSettled(id);
  const { status, message }: { status: Status; message: string } =
    known === undefined || isUnderWay ? { status: 'running', message: '' } : known;
  return {
    name: nameOf(id),
    agent_id: id,
    type: known?.role ?? agent.settings.role,
    status,
    terminal: isFinal(status),
    ...(known?.closed === true ? { closed: true } : {}),
    context_mode: known?.forked === true ? 'forked' : 'fresh',
    transcript_handle: transcriptHandle(id),
    ...(message === '' ? {} : { message }),
    ...handedBack(status, message),
  };
}

/** An answer has to have sections; what stands beside another end may hold some. */
function handedBack(status: Status, message: string): Pick<SessionProjection, 'contract' | 'sections'> {
  if (!isFinal(status) || message === '') return {};
  const { contract, sections } = readSections(message);
  if (contract === 'missing') return status === 'completed' ? { contract } : {};
  return { contract, sections };
}
