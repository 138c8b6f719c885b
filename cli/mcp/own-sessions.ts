import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionResult } from '../../client/types.ts';
import { type SessionId, sessionOf } from '../../protocol/index.ts';
import { sessionEnd } from '../follow/session-end.ts';
import type { Invocation } from '../invocation.ts';
import { goOnInBackground } from '../serving/background.ts';
import { isServed, Serving } from '../serving/serving.ts';
import { type SessionRequest, startSession } from '../start-session.ts';
import { workerOptionsOf } from '../worker-options.ts';
import type { Workplace } from '../workplace.ts';
import type { Workplaces } from '../workplaces.ts';

/** A session that can be followed from here. */
export interface OwnSession {
  id: SessionId;
  place: Workplace;
  /** Whether it had ended when it was found. */
  closed: boolean;
  /** What it ends with. */
  end: Promise<SessionResult>;
  /** Where it is seen in the Temporal Web UI. */
  web: string | undefined;
}

interface Held extends OwnSession {
  serving: Serving | undefined;
}

const LINGER_MS = 5_000;
/** How long a session that is about to start keeps the process that ends. */
const START_MS = 5_000;

/** The sessions that this process has started or taken up: it works for the local ones until they end, or it does. */
export class OwnSessions {
  readonly #invocation: Invocation;
  readonly #workplaces: Workplaces;
  readonly #held = new Map<SessionId, Held>();
  readonly #starting = new Set<Promise<unknown>>();

  /** @param invocation of the whole process */
  constructor(invocation: Invocation, workplaces: Workplaces) {
    this.#invocation = invocation;
    this.#workplaces = workplaces;
  }

  /** Starts a session, and works for it. */
  async start(invocation: Invocation, request: Omit<SessionRequest, 'served'>): Promise<OwnSession> {
    const starting = startSession(invocation, { ...request, served: true });
    const held = starting.then(({ id, place, serving, web }) => this.#hold(id, place, serving, web));
    const settled = held.catch(() => {}).finally(() => this.#starting.delete(settled));
    this.#starting.add(settled);
    return held;
  }

  /** A session, whoever works for it: this process does, where it is local and nobody else does. */
  async find(id: SessionId): Promise<OwnSession> {
    const place = await this.#workplaces.open(undefined, id);
    const { closed } = await place.link.reach((client) => client.get(id).describe());
    if (!closed) await this.takeUp(place, id);
    const { end } = this.#held.get(id) ?? { end: sessionEnd(place, id, undefined) };
    return { id, place, closed, end, web: place.link.webAddress(id) };
  }

  /** Works for the session of an agent from now on, where it is local and open, and nobody works for it. */
  async takeUp(place: Workplace, agent: SessionId): Promise<void> {
    const id = sessionOf(agent);
    if (this.#held.has(id)) return;
    const { queue, closed } = await place.link.reach((client) => client.get(id).describe());
    const local = closed ? undefined : await place.localSession(id, queue);
    if (local === undefined || (await isServed(local)) || this.#held.has(id)) return;
    this.#hold(id, place, new Serving(local, 'act', place.surroundings), place.link.webAddress(id));
  }

  #hold(id: SessionId, place: Workplace, serving: Serving | undefined, web: string | undefined): OwnSession {
    const end = sessionEnd(place, id, serving);
    const held = { id, place, closed: false, serving, web, end };
    this.#held.set(id, held);
    const over = (problem?: unknown): void => {
      this.#held.delete(id);
      // Whoever has waited for the end looks at the session once more.
      setTimeout(() => void serving?.stop(), LINGER_MS).unref();
      if (problem !== undefined) this.#invocation.output.debug(`session ${id}: ${problem}`);
    };
    end.then(() => over(), over);
    return held;
  }

  /** Leaves what still runs to workers in the background, one for each session. */
  async leave(): Promise<void> {
    await this.#leaveHeld();
    // One that is not there by then stands still until somebody takes it up.
    await Promise.race([Promise.all(this.#starting), sleep(START_MS, undefined, { ref: false })]);
    await this.#leaveHeld();
  }

  async #leaveHeld(): Promise<void> {
    const { options, output } = this.#invocation;
    const held = [...this.#held.values()];
    this.#held.clear();
    const left = held.map(async ({ id, place, serving }) => {
      if (serving === undefined) return;
      try {
        await goOnInBackground(place, id, serving, workerOptionsOf(options));
        output.info(`A worker in the background goes on with ${id}.`);
      } catch (error) {
        output.warn(error instanceof Error ? error.message : String(error));
      }
    });
    await Promise.all(left);
  }
}
