import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CadreError, type RolloutBody, sessionOf } from '../../protocol/index.ts';
import { writeLines } from '../../rollout/write-file.ts';
import { rolloutText } from '../../rollout/write-rollout.ts';
import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { harmless } from '../terminal-text.ts';

/** Writes a session's rollout to a file, or as it comes to stdout. */
export default function exportCommand(
  invocation: Invocation,
  [reference]: [string],
  { output: file, plain = false }: { output?: string; plain?: boolean },
): Promise<ExitCode> {
  const { output } = invocation;
  return atAgent(invocation, reference, async (place, id) => {
    const session = sessionOf(id);
    const keys = plain ? undefined : place.link.connectOptions.encryption;
    const path = file === undefined ? undefined : await writable(resolve(invocation.cwd, file));
    await place.withSession(session, async () => {
      const { header, body, unread } = await place.link.reach((client) =>
        client.export(session, place.rollouts),
      );
      const seen = new Seen();
      const text = rolloutText(header, seen.through(body), keys);
      if (path === undefined) for await (const line of text) await output.raw(`${line}\n`);
      else await writeLines(path, text);
      const { agents } = seen;
      const missing = [...seen.missing.keys()];
      if (path !== undefined) {
        output.result({ session_id: session, file: path, agents, missing }, path);
      }
      if (unread !== undefined) {
        output.warn(`what only an earlier rollout may hold is not in it: ${harmless(unread.message)}`);
      }
      for (const [agent, reason] of seen.missing) output.warn(`${agent} is not in it: ${reason}.`);
    });
    return EXIT.done;
  });
}

/** @throws CadreError `usage` for what is no file */
async function writable(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || found.isFile()) return path;
  throw new CadreError('usage', `${path} is not a file.`, { hint: 'Name a file, or leave -o out: stdout.' });
}

/** What has come by, for whoever is told of it in the end. */
class Seen {
  agents = 0;
  /** Why, by agent. */
  readonly missing = new Map<string, string>();

  async *through(body: AsyncIterable<RolloutBody>): AsyncGenerator<RolloutBody> {
    for await (const line of body) {
      if (line.type === 'agent') this.agents++;
      if (line.type === 'missing') this.missing.set(line.agent_id, harmless(line.reason));
      yield line;
    }
  }
}
