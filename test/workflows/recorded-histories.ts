import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { dataConverter } from '../../codec/index.ts';
import type { Bundle } from './test-bundle.ts';

type History = temporal.api.history.v1.IHistory;

const folder = fileURLToPath(new URL('../histories', import.meta.url));

/** One run of one workflow, as it was recorded. */
export interface Recorded {
  /** Within test/histories. */
  file: string;
  workflowId: string;
  /** Temporal's own JSON form of a history. */
  history: { events: RecordedEvent[] };
}

export interface RecordedEvent {
  eventType: string;
  workflowExecutionStartedEventAttributes?: { workflowId: string; continuedExecutionRunId?: string };
  [attributes: string]: unknown;
}

/** All that was ever recorded, or what matches, in the order of the files' names. */
export function recordedHistories(pattern = '**/*.json.gz'): Recorded[] {
  return globSync(pattern, { cwd: folder })
    .sort()
    .map((file) => {
      const history = JSON.parse(gunzipSync(readFileSync(join(folder, file))).toString());
      const { workflowId } = history.events[0].workflowExecutionStartedEventAttributes;
      return { file, workflowId, history };
    });
}

export function isRecorded(version: string): boolean {
  return existsSync(join(folder, version));
}

/** Writes one run without anything that tells of the machine. Returns the text as it stands in the file. */
export function record(file: string, history: History): string {
  const text = JSON.stringify(JSON.parse(historyToJSON(history), withoutMachine));
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, gzipSync(text, { level: 9 }));
  return text;
}

/** Processes with their host, and where code stood; no replay looks at them. */
function withoutMachine(key: string, value: unknown): unknown {
  if (key === 'identity') return 'recorder';
  if (key === 'stackTrace') return '';
  // The queue that a worker has for itself: its process, its host and a number.
  return key === 'name' && /^\d+@/.test(String(value)) ? 'recorder-sticky' : value;
}

/** The files that the workflows of this bundle do not replay, each with the reason. */
export async function notReplayed(
  workflowBundle: Bundle,
  histories: readonly Recorded[],
): Promise<{ file: string; reason: string }[]> {
  const failed: { file: string; reason: string }[] = [];
  const options = { workflowBundle, dataConverter: dataConverter() };
  let index = 0;
  for await (const { error } of Worker.runReplayHistories(options, histories)) {
    const file = histories[index++]?.file ?? '';
    if (error !== undefined) failed.push({ file, reason: shortly(error.message) });
  }
  if (index !== histories.length) throw new Error(`${index} of ${histories.length} histories were replayed`);
  return failed;
}

/** Temporal's own sentence with its code, where there is one among what is wrapped around it. */
function shortly(message: string): string {
  return /\[TMPRL\d+\][^"\\]*/.exec(message)?.[0] ?? message.slice(0, 400);
}
