import { Client, Connection } from '@temporalio/client';
import { historySize } from '../test/support/history-size.ts';
import { type OutputKind, writeOutputs } from '../test/support/large-outputs.ts';
import type { Contender } from './contender.ts';

export interface HistoryGrowth {
  /** Bytes of history by steps taken, all runs of the workflow together. */
  bytes: Map<number, number>;
  /** Where it ended before its model was done. */
  stopped?: { step: number; status: string };
}

/** Has an agent read an output of 8 KB a step, until the last of the marks. */
export async function historyGrowth(
  contender: Contender,
  marks: readonly number[],
  kind: OutputKind,
): Promise<HistoryGrowth> {
  const steps = Math.max(...marks);
  writeOutputs(contender.folder, steps, kind);
  const connection = await Connection.connect({ address: contender.address });
  const client = new Client({ connection });
  const bytes = new Map<number, number>();
  let step = 0;
  try {
    const { status } = await contender.session(async ({ answers }, id) => {
      step = Math.max(step, answers);
      if (marks.includes(answers) && !bytes.has(answers)) bytes.set(answers, await historySize(client, id));
      return answers < steps
        ? { calls: [{ name: 'read_file', arguments: { path: `output-${answers}.txt` } }] }
        : { text: 'done' };
    });
    return status === 'completed' ? { bytes } : { bytes, stopped: { step, status } };
  } finally {
    await connection.close();
  }
}
