import { randomUUID } from 'node:crypto';
import { CadreError, type Operate, type OperateAnswer, type OperateOutcome } from '../protocol/index.ts';
import { isStillThere } from '../protocol/lives.ts';
import { QUERIES, UPDATES } from '../protocol/messages.ts';
import type { AgentLine } from './agent-line.ts';
import { Pace, Patience } from './polling.ts';

/** Between so many looks it is made sure that the agent is still there. */
const DESCRIBE_EVERY = 20;

/** What has come of an operation; `output` is what a model would have read. */
export interface Outcome {
  success: boolean;
  output: string;
}

/** Asks an agent for something that takes time, and looks until it is done. */
export async function operate(line: AgentLine, request: Operate): Promise<Outcome> {
  // Asked once more where the answer was lost, it is done once.
  const { operation_id } = await line.update<OperateAnswer>(UPDATES.operate, {
    id: randomUUID(),
    ...request,
  });
  const patience = new Patience();
  const pace = new Pace();
  for (let looks = 0; ; await pace.pause()) {
    const outcome = await patience.answer(line.query<OperateOutcome>(QUERIES.outcome, { operation_id }));
    if (outcome?.state === 'pending' && ++looks % DESCRIBE_EVERY === 0) await requireOpen(line);
    if (outcome?.state === 'done') return { success: outcome.success, output: outcome.output };
    if (outcome?.state === 'unknown') {
      throw new CadreError('outcome_unknown', `agent ${line.id} no longer knows what came of it`, {
        hint: `Look at what happened: cadre events ${line.id}`,
      });
    }
  }
}

/** @throws CadreError `outcome_unknown` for an agent that was ended with the operation under way */
async function requireOpen(line: AgentLine): Promise<void> {
  if (isStillThere((await line.describe()).status.name)) return;
  throw new CadreError('outcome_unknown', `agent ${line.id} was ended before it was done`, {
    hint: `Look at what happened: cadre events ${line.id}`,
  });
}
