import type { AgentId, Mail, Operate, SlotRequest } from '../protocol/index.ts';
import { jsonBytes } from './carried-text.ts';

/** What handlers leave for the agent to act on. */
export type Order =
  | { type: 'mail'; mail: Mail }
  /**
   * `forInput`: some that has come means to go before what the agent does; a turn that has not begun takes it along.
   * `along`: its parent was interrupted, and passes that on.
   */
  | { type: 'interrupt'; reason: string; forInput?: true; along?: true }
  | { type: 'operate'; id: string; request: Operate }
  /** Of an agent that this one has started: that life of it has come to an abrupt end. */
  | { type: 'death'; id: AgentId; life: number; reason: string }
  /** Another agent has sent input that is not taken. */
  | { type: 'refused_input'; from: AgentId; id: string }
  /** At the root: another agent supposes that this one has ended without saying so. */
  | { type: 'suspicion'; id: AgentId }
  /** At the root: no slot is free, and one that holds one may be gone; what was asked for is asked again then. */
  | { type: 'no_slot'; request?: SlotRequest }
  | { type: 'report' }
  | { type: 'shutdown'; reason: string };

/** As many bytes as orders take that nobody has followed yet: mostly none. */
export function bytesOfOrders(orders: readonly Order[]): number {
  return orders.length === 0 ? 0 : jsonBytes(orders);
}
