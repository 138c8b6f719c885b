import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { CommandSessions } from '../activities/commands/command-sessions.ts';
import { findEnded } from '../activities/find-ended.ts';

const EVERY_MS = 15_000;

/**
 * Ends the commands of agents that were ended from outside, with Temporal's own tools: they close nothing themselves.
 *
 * @param log told in a line what was found
 */
export async function keepCommands(
  client: Client,
  commands: CommandSessions,
  signal: AbortSignal,
  log: (line: string) => void,
  everyMs = EVERY_MS,
): Promise<void> {
  for (;;) {
    await sleep(everyMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    const { agents } = commands;
    if (agents.length === 0) continue;
    // Without a server, nobody ends agents either.
    const { ended } = await findEnded(client)({ agents }).catch(() => ({ ended: [] }));
    for (const agent of ended) {
      log(`ending the commands of ${agent}, which has ended`);
      await commands.endOf(agent);
    }
  }
}
