import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Answer,
  type Answerer,
  type ModelServer,
  startModelServer,
} from '../test/support/model-server.ts';
import type { SeenRequest } from '../test/support/wire-requests.ts';
import type { Contender, SessionAnswerer, SessionEnd, SessionOptions } from './contender.ts';
import { RIVAL_BUNDLE } from './rival-packages.ts';

/** How the plug-in is used: which of its activities are local ones, and what agents below an agent are. */
export interface RivalMode {
  model: 'activity' | 'local';
  tools: 'activity' | 'local';
  below: 'nested' | 'workflows';
}

export interface RivalOptions extends RivalMode {
  address: string;
  folder: string;
  modelUrl: string;
  /** File with its bundled workflows. */
  bundle: string;
}

/** What the code beside the rival's own packages gives. */
export type OpenRival = (options: RivalOptions) => Promise<{
  run(
    workflow: 'reader' | 'delegator',
    id: string,
    onStarted: (terminate: (reason: string) => Promise<unknown>) => void,
  ): Promise<SessionEnd>;
  close(): Promise<void>;
}>;

/** Without a request for so long, a workflow is taken to have come to its end without saying so. */
const STALLED_MS = 180_000;

/** Temporal's own plug-in for the OpenAI Agents SDK, with a worker in this process as Cadre's. */
export class Rival implements Contender {
  readonly name: string;
  readonly address: string;
  readonly folder: string;
  readonly #model: ModelServer;
  readonly #host: Awaited<ReturnType<OpenRival>>;
  #answerer: Answerer = () => ({ text: 'nothing to do' });
  #asked = 0;

  private constructor(
    name: string,
    address: string,
    folder: string,
    model: ModelServer,
    host: Awaited<ReturnType<OpenRival>>,
  ) {
    this.name = name;
    this.address = address;
    this.folder = folder;
    this.#model = model;
    this.#host = host;
  }

  static async open(name: string, mode: RivalMode, address: string): Promise<Rival> {
    // By a name that the compiler does not follow: its packages are installed for this measurement alone.
    const module = new URL('rivals/openai-agents.ts', import.meta.url).href;
    const { openRival } = (await import(module)) as { openRival: OpenRival };
    const folder = mkdtempSync(join(tmpdir(), 'cadre-bench-rival-'));
    writeFileSync(join(folder, 'small.txt'), 'one line\n');
    let rival: Rival | undefined;
    const model = await startModelServer((request) => rival?.answer(request) ?? { text: '' });
    const host = await openRival({ ...mode, address, folder, modelUrl: model.url, bundle: RIVAL_BUNDLE });
    rival = new Rival(name, address, folder, model, host);
    return rival;
  }

  answer(request: SeenRequest): ReturnType<Answerer> {
    this.#model.requests.length = 0;
    this.#asked = Date.now();
    return this.#answerer(request);
  }

  async session(answerer: SessionAnswerer, options: SessionOptions = {}): Promise<SessionEnd> {
    const id = `rival-${randomUUID()}`;
    this.#answerer = (request) => answerer(request, id);
    this.#asked = Date.now();
    let watch: NodeJS.Timeout | undefined;
    try {
      return await this.#host.run(options.children ? 'delegator' : 'reader', id, (terminate) => {
        watch = setInterval(() => {
          if (Date.now() - this.#asked > STALLED_MS) terminate('it makes no more requests').catch(() => {});
        }, 5_000);
      });
    } finally {
      clearInterval(watch);
    }
  }

  delegation(children: number): Answer[] {
    const call = { name: 'delegate', arguments: { input: 'read it' } };
    return [{ calls: Array.from({ length: children }, () => call) }];
  }

  isChild(request: SeenRequest): boolean {
    return !request.tools.includes('delegate');
  }

  async close(): Promise<void> {
    await this.#host.close();
    await this.#model.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
