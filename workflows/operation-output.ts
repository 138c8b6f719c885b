import type { Stored } from '../protocol/cut-mark.ts';
import { bytesWithin } from '../protocol/output-size.ts';
import { problemOf, storeOutputs } from './activity-calls.ts';
import type { AgentState } from './agent-state.ts';
import { jsonBytes } from './carried-text.ts';
import { cutMiddle } from './cut-middle.ts';
import { applyCuts, planCuts } from './fit-result.ts';

/** As much goes into one activity, whatever other agents have said. */
const STORED_TOGETHER = 500_000;

/**
 * The result of an operation as the model gets it: within the limit of outputs, and JSON all the same. Each text in it
 * has its share; what is cut is stored, and its cut names the handle.
 */
export async function outputOf(agent: AgentState, result: unknown): Promise<string> {
  const most = bytesWithin(agent.settings.limits.tool_output_limit);
  const whole = JSON.stringify(result);
  // As nearly every result is; a character takes three bytes at most.
  if (whole.length * 3 <= most) return whole;
  const cuts = planCuts(result, most);
  // What loses entries is stored as a whole: many short texts would be of no use.
  const texts = cuts.losesEntries ? [whole] : cuts.texts;
  if (texts.length === 0) return whole;
  // One after the other, also where clients have asked for several: together they might not fit into one task.
  const stored = agent.storing.then(() => store(texts));
  agent.storing = stored.then(() => {});
  const kept = await stored;
  return JSON.stringify(applyCuts(result, cuts, most, (text) => kept.get(text)));
}

async function store(texts: string[]): Promise<Map<string, Stored>> {
  const kept = new Map<string, Stored>();
  for (const batch of batches(texts)) {
    const stored = await storeBatch(batch);
    for (const [index, text] of batch.entries()) {
      kept.set(text, stored[index] ?? { problem: 'no answer' });
    }
  }
  return kept;
}

/** Never fails: without the whole, the model goes on with what it is shown. */
async function storeBatch(batch: string[]): Promise<Stored[]> {
  try {
    const { stored } = await storeOutputs({ texts: batch.map((text) => cutMiddle(text, STORED_TOGETHER)) });
    return stored;
  } catch (error) {
    const problem = problemOf(error);
    const why = problem.kind === 'cancelled' ? 'the call was interrupted' : problem.message;
    return batch.map(() => ({ problem: why }));
  }
}

function batches(texts: string[]): string[][] {
  const all: string[][] = [];
  let room = 0;
  for (const text of texts) {
    const bytes = Math.min(jsonBytes(text), STORED_TOGETHER);
    if (all.length === 0 || bytes > room) {
      all.push([]);
      room = STORED_TOGETHER;
    }
    all.at(-1)?.push(text);
    room -= bytes;
  }
  return all;
}
