import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { setCurrentDetails, upsertMemo, upsertSearchAttributes } from '@temporalio/workflow';
import type { AgentState } from './agent-state.ts';
import { currentDetails } from './current-details.ts';

const STATUS = defineSearchAttributeKey('CadreStatus', SearchAttributeType.KEYWORD);
const MODEL = defineSearchAttributeKey('CadreModel', SearchAttributeType.KEYWORD);
const ROLE = defineSearchAttributeKey('CadreRole', SearchAttributeType.KEYWORD);

/** What people see of an agent in the Temporal Web UI: current details, search attributes, memo. */
export class Surface {
  readonly #agent: AgentState;
  #shownStatus: string;
  #shownNote: string | undefined;

  /** @param continues an earlier run has left its search attributes; else they stand as at any start */
  constructor(agent: AgentState, continues: boolean) {
    this.#agent = agent;
    this.#shownStatus = continues ? agent.standing.status : 'pending_init';
    this.#shownNote = agent.standing.note;
  }

  /** Brings what is shown up to date; costs an event only where a search attribute or the memo changes. */
  refresh(): void {
    const { standing, identity } = this.#agent;
    const { tree, questions } = this.#agent;
    const approvals = tree?.approvals.pending ?? [...questions.values()];
    setCurrentDetails(currentDetails(this.#agent.view, standing.plan, approvals));
    if (standing.status !== this.#shownStatus && identity.search_attributes.includes(STATUS.name)) {
      this.#shownStatus = standing.status;
      upsertSearchAttributes([{ key: STATUS, value: standing.status }]);
    }
    if (standing.note !== this.#shownNote) {
      this.#shownNote = standing.note;
      upsertMemo({ note: standing.note ?? null });
    }
  }

  /** The role may have chosen another model than the one the agent was started with. */
  showSettings(): void {
    const { identity, settings } = this.#agent;
    const pairs = [
      { key: MODEL, value: settings.model },
      { key: ROLE, value: settings.role },
    ].filter((pair) => identity.search_attributes.includes(pair.key.name));
    if (pairs.length > 0) upsertSearchAttributes(pairs);
  }
}
