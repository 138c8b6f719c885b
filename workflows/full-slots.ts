import type { AgentId, ErrorBody } from '../protocol/index.ts';

/** Who holds the slots: idle ones only where open agents do. */
export interface Holders {
  max: number;
  working: AgentId[];
  idle: AgentId[];
}

/**
 * Why there is no slot, who holds them, and what frees one.
 *
 * @param byFinishing whether one comes free when a turn ends, or only when an agent closes
 */
export function slotsFull({ max, working, idle }: Holders, byFinishing: boolean): ErrorBody {
  const groups: [string, AgentId[]][] =
    idle.length === 0
      ? [['', working]]
      : [
          ['at work: ', working],
          ['open and idle: ', idle],
        ];
  const holders = groups.flatMap(([what, agents]) =>
    agents.length > 0 ? `${what}${agents.join(', ')}` : [],
  );
  return {
    code: 'limit_threads',
    message: `${max === 1 ? 'The one slot for agents is' : `All ${max} slots for agents are`} taken (agents.max_threads). Holders: ${holders.join('; ')}.`,
    hint: byFinishing
      ? 'Wait for one to finish (wait), or close one (close_agent), and try again.'
      : 'Close one that is done (close_agent) and try again.',
    retryable: true,
  };
}
