import type { SlotRequest } from '../../protocol/index.ts';
import type { AgentState } from '../agent-state.ts';
import { suspect } from './lookout.ts';

/**
 * Looks whether all that hold a slot still run. Where open agents hold slots, an idle one may be terminated and nobody
 * notice: nothing waits for it, until another agent needs its slot.
 *
 * @param request what is asked again once that is known
 */
export function lookAtHolders(root: AgentState, request?: SlotRequest): void {
  const { tree } = root;
  if (tree === undefined) return;
  // One that has said nothing yet may not have started, which looks the same from here; its parent hears of its end.
  const heard = tree.slots.holders.filter((id) => !tree.isUnborn(id));
  tree.looking ??= suspect(root, heard).then(() => {
    tree.lookedAt = Date.now();
    tree.looking = undefined;
  });
  const asked = tree.looking.then(() => {
    // Behind what was found.
    if (request !== undefined) root.orders.push({ type: 'mail', mail: { type: 'slot', request } });
  });
  void root.sideWork.track(asked);
}
