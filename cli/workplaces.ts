import type { SessionId } from '../protocol/index.ts';
import { cadreHome } from '../server/home.ts';
import type { Config } from './config/schema.ts';
import { type CommonOptions, Invocation } from './invocation.ts';
import type { Output } from './output.ts';
import { SessionFiles } from './serving/session-files.ts';
import { isStoppedOnPurpose } from './serving/stopped-server.ts';
import { Workplace } from './workplace.ts';

/** Workplaces of a process that is asked again and again: one for each server and set of keys, shared by all who ask. */
export class Workplaces {
  readonly #invocation: Invocation;
  readonly #kept = new Map<string, Promise<Workplace>>();

  constructor(invocation: Invocation) {
    this.#invocation = invocation;
  }

  /** As `Workplace.open`; what it returns stays open. */
  async open(config?: Config, session?: SessionId): Promise<Workplace> {
    const loaded = config ?? (await this.#invocation.loadConfig()).config;
    const { temporal, encryption, rollouts } = loaded;
    const files = new SessionFiles(cadreHome(this.#invocation.environment));
    const { address, namespace } = (session === undefined ? undefined : await files.read(session)) ?? {};
    const found = temporal.address === undefined ? { address, namespace } : {};
    const key = JSON.stringify([temporal, found, encryption, rollouts]);
    const kept = this.#kept.get(key);
    const place = await kept?.catch(() => undefined);
    // As every command does, whoever is asked starts the server again that somebody has stopped.
    if (place !== undefined && !(place.link.isEmbedded && (await isStoppedOnPurpose(place.home))))
      return place;
    place?.close();
    if (this.#kept.get(key) === kept) {
      this.#kept.set(key, Workplace.open(this.#invocation, loaded, session));
    }
    return this.#kept.get(key) as Promise<Workplace>;
  }
}

/** A command inside a process that is asked again and again: it works where others have worked before. */
export class LastingInvocation extends Invocation {
  readonly workplaces: Workplaces;

  constructor(options: CommonOptions, output: Output, workplaces: Workplaces) {
    super(options, output);
    this.workplaces = workplaces;
  }
}
