import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { Contender } from './contender.ts';

/** Of outputs of 8 KB: what compresses like source code, or what does not compress. */
export type OutputKind = 'source' | 'random';

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

/** Each run of a workflow that continues as new has a history of its own. */
async function historySize(client: Client, workflowId: string): Promise<number> {
  let sum = 0;
  for await (const { runId } of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    sum += (await client.workflow.getHandle(workflowId, runId).describe()).historySize ?? 0;
  }
  return sum;
}

function writeOutputs(folder: string, count: number, kind: OutputKind): void {
  const source = sourceCode();
  for (let index = 0; index < count; index++) {
    const start = (index * 4_000) % Math.max(1, source.length - 8_000);
    const text = kind === 'random' ? randomLines() : source.slice(start, start + 8_000);
    writeFileSync(join(folder, `output-${index}.txt`), text);
  }
}

/** 8 KB in lines, as `base64` prints bytes: six bits of each character cannot be compressed away. */
function randomLines(): string {
  return (
    randomBytes(5_920)
      .toString('base64')
      .match(/.{1,76}/g) ?? []
  ).join('\n');
}

/** This repository's own workflow code, as a model would read it. */
function sourceCode(): string {
  const folder = new URL('../workflows/', import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  return files.map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');
}
