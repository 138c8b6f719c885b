import { setTimeout as sleep } from 'node:timers/promises';
import { CadreError, type Operate, type OperateAnswer, type OperateOutcome } from '../protocol/index.ts';
import { QUERIES, UPDATES } from '../protocol/messages.ts';
import type { AgentLine } from './agent-line.ts';

const POLL_FIRST_MS = 60;
const POLL_MOST_MS = 500;
/** Nobody is taken for gone that has not answered only once or twice. */
const SILENCES = 3;

/** Between so many looks it is made sure that the agent is still there. */
const DESCRIBE_EVERY = 20;

/** What has come of an operation; `output` is what a model would have read. */
export interface Outcome {
  success: boolean;
  output: string;
}

/** Asks an agent for something that takes time, and looks until it is done. */
export async function operate(line: AgentLine, request: Operate): Promise<Outcome> {
  const { operation_id } = await line.update<OperateAnswer>(UPDATES.operate, request);
  let silences = 0;
  let looks = 0;
  for (let pause = POLL_FIRST_MS; ; pause = Math.min(pause * 1.5, POLL_MOST_MS)) {
    const outcome = await line
      .query<OperateOutcome>(QUERIES.outcome, { operation_id })
      .catch((error: unknown) => {
        const isSilent = error instanceof CadreError && error.code === 'no_worker';
        if (!isSilent || ++silences >= SILENCES) throw error;
        return undefined;
      });
    if (outcome !== undefined) silences = 0;
    if (outcome?.state === 'pending' && ++looks % DESCRIBE_EVERY === 0) await requireOpen(line);
    if (outcome?.state === 'done') return { success: outcome.success, output: outcome.output };
    if (outcome?.state === 'unknown') {
      throw new CadreError('outcome_unknown', `agent ${line.id} no longer knows what came of it`, {
        hint: `Look at what happened: cadre events ${line.id}`,
      });
    }
    await sleep(pause);
  }
}

/** @throws CadreError `outcome_unknown` for an agent that was ended with the operation under way */
async function requireOpen(line: AgentLine): Promise<void> {
  if ((await line.describe()).status.name === 'RUNNING') return;
  throw new CadreError('outcome_unknown', `agent ${line.id} was ended before it was done`, {
    hint: `Look at what happened: cadre events ${line.id}`,
  });
}
