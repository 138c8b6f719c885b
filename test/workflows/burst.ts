import type { Item } from '../../protocol/index.ts';
import { heard } from './script.ts';
import type { ScriptedSession } from './scripted-session.ts';
import type { ScriptedWorker } from './scripted-worker.ts';

export const BURST = 150;

/** Sends so many inputs at the same time; yields how many the server has taken. */
export async function burst(session: ScriptedSession, name = 'root'): Promise<number> {
  const sent = await Promise.allSettled(
    Array.from({ length: BURST }, (_, n) => session.send({ message: `input ${n}`, id: `burst-${n}` }, name)),
  );
  return sent.filter(({ status }) => status === 'fulfilled').length;
}

/** The inputs in the order in which the server took them, over all runs of the agent. */
export async function arrived(
  worker: ScriptedWorker,
  session: ScriptedSession,
  name = 'root',
): Promise<string[]> {
  const runs = await worker.runs(session.idOf(name));
  const events = runs.toReversed().flatMap(({ history }) => history.events ?? []);
  return events.flatMap((event) => {
    const signal = event.workflowExecutionSignaledEventAttributes;
    if (signal?.signalName !== 'send_input') return [];
    const { message } = JSON.parse(Buffer.from(signal.input?.payloads?.[0]?.data ?? []).toString());
    return /^input \d+$/.test(message) ? [message as string] : [];
  });
}

/** Those of the burst that the model was shown. */
export function heardOfBurst(items: readonly Item[]): string[] {
  return heard(items).filter((text) => text.startsWith('input '));
}
