import type { Streaming } from '../../client/types.ts';
import type { AgentEvent, AgentId, AgentView } from '../../protocol/index.ts';

/** A piece of an answer that is still being made: of no number, since the whole message comes as an event of its own. */
export type PartialMessage = Omit<Extract<AgentEvent, { type: 'message' }>, 'seq'> & {
  partial: true;
  /** Where `text` begins in the answer, in characters; 0 where it begins, also when it begins anew. */
  offset: number;
};

/** Tells what each agent's model has said since the last look. */
export class StreamedTexts {
  readonly #told = new Map<AgentId, { call: string; end: number }>();

  /** @returns what is new; undefined when nothing is */
  news(agent: AgentView, { call, text, offset }: Streaming, now: number): PartialMessage | undefined {
    const { agent_id: id, session_id } = agent;
    const before = this.#told.get(id);
    // Another call, or the same one tried again, begins at its beginning.
    const told = before?.call === call ? before.end : 0;
    const end = offset + text.length;
    if (end <= told) return undefined;
    this.#told.set(id, { call, end });
    // What has come and gone between two looks is told with the whole message.
    const from = Math.max(told, offset);
    return {
      at: new Date(now).toISOString(),
      agent_id: id,
      session_id,
      type: 'message',
      role: 'assistant',
      text: text.slice(from - offset),
      partial: true,
      offset: from,
    };
  }
}
