import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionResult } from '../../client/types.ts';
import type { AgentView, SessionId } from '../../protocol/index.ts';
import { holdOnClosedOutput } from '../closed-output.ts';
import type { Config } from '../config/schema.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Invocation } from '../invocation.ts';
import { eventLine } from '../render/event-line.ts';
import { retryLine } from '../render/retry-line.ts';
import { goOnInBackground } from '../serving/background.ts';
import type { Serving } from '../serving/serving.ts';
import { tellIfUnserved, whoGoesOn } from '../serving/tell-if-unserved.ts';
import { standstillLine } from '../serving/tell-standstill.ts';
import type { Workplace } from '../workplace.ts';
import { LiveTree } from './live-tree.ts';
import { Person } from './person.ts';
import { sessionEnd } from './session-end.ts';
import { SessionFeed } from './session-feed.ts';
import { onSignals } from './signals.ts';

const UNSERVED_MS = 2_000;

export interface FollowOptions {
  session: SessionId;
  /** Undefined for a queued session: its own workers serve it. */
  serving: Serving | undefined;
  /** Milliseconds after which the session is left running. */
  timeoutMs?: number | undefined;
  /** Common options that a background worker needs, too. */
  workerOptions: readonly string[];
  notifications: Config['notifications'];
  /** Whether the person at the terminal may be asked for approvals. */
  asks: boolean;
  /** Whether the session has only just begun. */
  fresh: boolean;
  /** With --jsonl: answers of models while they are being made, too. */
  stream: boolean;
}

/** How following ended: with the session, or because somebody left it running. */
export type Followed =
  | { kind: 'ended'; result: SessionResult; agents: AgentView[] }
  | { kind: 'left'; exitCode: ExitCode; works: string };

/** Follows a session until it ends: a live tree on a terminal, lines elsewhere, JSON lines with --jsonl. */
export async function follow(
  invocation: Invocation,
  place: Workplace,
  options: FollowOptions,
): Promise<Followed> {
  const { output } = invocation;
  const { session, serving } = options;
  const stop = new AbortController();
  let hasLeft = false;
  const live = output.isLive ? new LiveTree(output) : undefined;
  const { notifications, asks, fresh } = options;
  const person = new Person(invocation, place, { session, live, notifications, asks, fresh });
  const show = (agents: AgentView[]): void => {
    live?.show(agents);
    if (!stop.signal.aborted) person.sees(agents);
  };
  const feed = new SessionFeed(session, async (id) => place.link.reach(async (client) => client.get(id)), {
    ...(live === undefined && !person.isThere ? {} : { onTree: show }),
    complete: output.format === 'jsonl',
    onRetry: (agent, retry) => {
      if (!hasLeft) output.warn(retryLine(agent, retry));
    },
    onStandstill: (agent, failure) => {
      if (!hasLeft) output.warn(standstillLine(agent, failure));
    },
    ...(options.stream
      ? {
          onPartial: (message) => {
            if (!hasLeft) output.line(message);
          },
        }
      : {}),
    onEvent: (event, view) => {
      if (hasLeft) return;
      person.hears(event, view);
      if (output.format === 'jsonl') output.line(event);
      else if (live === undefined) printLine(eventLine(event));
    },
  });
  const printLine = (line: string | undefined): void => {
    if (line !== undefined) output.info(output.colors.dim(line));
  };

  let undoSignals = (): void => {};
  const left = new Promise<{ exitCode: ExitCode; background: boolean }>((resolve) => {
    undoSignals = onSignals((wish) => {
      if (wish === 'interrupt') {
        output.info(
          `Interrupting the turn; then \`cadre send ${session} TEXT\` gives it other input. Ctrl-C again leaves the session running.`,
        );
        interrupt(place, session).catch((error) => output.debug(String(error)));
      } else resolve({ exitCode: EXIT.interrupted, background: wish === 'leave' });
    });
    const closed = holdOnClosedOutput();
    const leaveUnread = (): void => resolve({ exitCode: EXIT.outputClosed, background: true });
    if (closed.aborted) leaveUnread();
    else closed.addEventListener('abort', leaveUnread, { once: true });
    if (options.timeoutMs !== undefined) {
      sleep(options.timeoutMs, undefined, { signal: stop.signal })
        .then(() => resolve({ exitCode: EXIT.ended, background: true }))
        .catch(() => {});
    }
  });

  if (serving === undefined) {
    // Its workers may be on their way; if there are none, nothing would be seen at all.
    sleep(UNSERVED_MS, undefined, { signal: stop.signal })
      .then(() => tellIfUnserved(invocation, place, session))
      .catch(() => {});
  }
  const watching = feed.run(stop.signal);
  try {
    const first = await Promise.race([
      sessionEnd(place, session, serving).then((result) => ({ result })),
      left,
    ]);
    stop.abort();
    person.parts('result' in first ? 'ended' : 'left');
    if ('result' in first) {
      undoSignals();
      await watching;
      const agents = await feed.lastLook((error) => {
        const reason = error instanceof Error ? error.message : String(error);
        output.warn(`What is shown of the agents may not be their last: ${reason}`);
      });
      return { kind: 'ended', result: first.result, agents };
    }
    // A look that is under way may take its time; what it brings belongs to nobody any more. Further signals change
    // nothing: whoever goes on with the work has to be there first.
    hasLeft = true;
    live?.end();
    const works = await leave(invocation, place, options, first);
    return { kind: 'left', exitCode: first.exitCode, works };
  } finally {
    stop.abort();
    undoSignals();
    person.parts('left');
    live?.end();
  }
}

function interrupt(place: Workplace, session: SessionId): Promise<void> {
  return place.link.reach((client) => client.get(session).interrupt('Ctrl-C'));
}

/** @returns who works for the session from now on */
async function leave(
  invocation: Invocation,
  place: Workplace,
  { session, serving, workerOptions }: FollowOptions,
  { background, exitCode }: { background: boolean; exitCode: ExitCode },
): Promise<string> {
  const { output } = invocation;
  const isQueued = serving === undefined;
  if (serving !== undefined && background) {
    await goOnInBackground(place, session, serving, workerOptions);
  } else await serving?.stop();
  const works = isQueued
    ? await whoGoesOn(place, session)
    : background
      ? 'a worker in the background goes on'
      : 'nobody works for it now, and it keeps what it has';
  const why = exitCode === EXIT.ended ? 'The time is up' : 'Left';
  output.info(`${why}: ${works}. Come back with: cadre attach ${session}`);
  return works;
}
