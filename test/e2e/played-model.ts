import { afterAll, beforeAll } from 'vitest';
import { type Answer, type ModelServer, startModelServer } from '../support/model-server.ts';
import type { SeenRequest } from '../support/wire-requests.ts';

/** The only model that it has. */
export const PLAYED = ['-c', 'model=small'];

/** A model server for all tests of a file, in which each says what the models answer. */
export class PlayedModel {
  /** What the models of a test answer. */
  play: (request: SeenRequest) => Answer | Promise<Answer> = () => ({ text: 'nothing is played' });
  #server: ModelServer | undefined;

  constructor() {
    beforeAll(async () => {
      this.#server = await startModelServer((request) => this.play(request), { models: ['small'] });
    });
    afterAll(() => this.#server?.close());
  }

  /** For the processes that are to use it. */
  get env(): Record<string, string> {
    return { OPENAI_BASE_URL: this.#server?.url ?? '' };
  }

  get requests(): SeenRequest[] {
    return this.#server?.requests ?? [];
  }
}

/** An answer that calls one tool. */
export const call = (name: string, args: object): Answer => ({ calls: [{ name, arguments: args }] });
