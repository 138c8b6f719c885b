import type { AgentId } from '../../protocol/index.ts';
import { NOTE_MAX, normalizeNote } from '../../protocol/note.ts';
import { lengthProblem } from '../../protocol/text-length.ts';
import type { AgentState } from '../agent-state.ts';
import { requireBelow } from './ownership.ts';
import { Refused } from './refused.ts';
import { resolveAgent } from './resolve.ts';

export interface NoteResult {
  submission_id: string;
  thread_note: string | null;
}

/** Sets the note of this agent, or of one below it. */
export async function setNote(agent: AgentState, reference: string, note: string): Promise<NoteResult> {
  requireFitting(note);
  const id = reference === agent.id ? agent.id : await resolveAgent(agent, reference);
  const kept = normalizeNote(note) ?? null;
  const submissionId = agent.nextId('requests');
  if (id === agent.id) {
    takeNote(agent, note);
    return { submission_id: submissionId, thread_note: kept };
  }
  requireBelow(agent, id, 'set the note of');
  if (agent.children.get(id)?.closed === true) throw closed(id);
  if (!(await agent.outbox.mail(id, { type: 'note', note }))) throw closed(id);
  return { submission_id: submissionId, thread_note: kept };
}

/** Keeps a note that somebody has set, and tells those who show it. */
export function takeNote(agent: AgentState, note: string): string | undefined {
  const kept = normalizeNote(note);
  agent.standing.setNote(kept, Date.now());
  agent.emit({ type: 'agent.note', receiver_id: agent.id, note: kept ?? null });
  agent.orders.push({ type: 'report' });
  return kept;
}

/** @throws Refused for a note that is too long: cut, it would say something that nobody has said */
function requireFitting(note: string): void {
  const problem = lengthProblem(note.trim(), NOTE_MAX);
  if (problem === undefined) return;
  throw new Refused({
    code: 'invalid_arguments',
    message: `the note is ${problem}`,
    hint: 'Nothing was changed. Say it in fewer words.',
  });
}

function closed(id: AgentId): Refused {
  return new Refused({ code: 'agent_closed', message: `agent ${id} is closed`, hint: 'Resume it first.' });
}
