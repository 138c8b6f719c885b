import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countAnswers, type Item, plainText } from '../../protocol/index.ts';

/** The conversations of a session, by agent id. */
export type Conversations = ReadonlyMap<string, readonly Item[]>;

/** What the conversations and the effects of a session add up to. */
export interface Counts {
  agents: number;
  steps: number;
  effects: number;
  unknown: number;
  interrupted: number;
}

const KEY = /K='([^']+)'/;

/**
 * Holds the conversations of a session against what its commands have really done.
 *
 * @returns the counts, and in words what does not fit: an effect that happened twice, or of which the model was told
 * something else
 */
export function examine(
  conversations: Conversations,
  folder: string,
): { counts: Counts; problems: string[] } {
  const log = join(folder, 'effects.log');
  const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  const times = (line: string) => lines.filter((each) => each === line).length;
  const counts: Counts = { agents: conversations.size, steps: 0, effects: 0, unknown: 0, interrupted: 0 };
  const problems: string[] = [];
  const known = new Set<string>();
  for (const [agent, items] of conversations) {
    counts.steps += countAnswers(items);
    for (const call of items.filter((item) => item.type === 'tool_call')) {
      const outputs = items.filter((item) => item.type === 'tool_output' && item.call_id === call.call_id);
      const [output] = outputs;
      if (outputs.length !== 1 || output?.type !== 'tool_output') {
        problems.push(`${agent}: ${call.call_id} has ${outputs.length} outputs`);
        continue;
      }
      const key = call.arguments.match(KEY)?.[1];
      if (key === undefined) continue;
      known.add(key);
      const begun = times(`begin ${key}`);
      const ended = times(`end ${key}`);
      const isUnknown = output.output.includes('"outcome_unknown"');
      const wasInterrupted = /interrupted/.test(output.output);
      counts.effects += begun;
      if (isUnknown) counts.unknown++;
      else if (wasInterrupted) counts.interrupted++;
      if (begun > 1 || ended > 1) problems.push(`${key}: begun ${begun} times, ended ${ended} times`);
      const fits = output.success ? begun === 1 && ended === 1 : isUnknown || wasInterrupted;
      if (!fits) problems.push(`${key}: begun ${begun}, ended ${ended}, but told: ${output.output}`);
    }
  }
  for (const line of lines.filter((line) => line.startsWith('begin '))) {
    const key = line.slice('begin '.length);
    if (!known.has(key)) problems.push(`${key}: it happened, and no conversation tells of it`);
  }
  return { counts, problems };
}

/** The texts that people and other agents have sent to an agent, in the order in which its model saw them. */
export function heard(items: readonly Item[]): string[] {
  return items.flatMap((item) => (item.type === 'user_message' ? [plainText(item.content)] : []));
}
