import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CadreClient } from '../client/index.ts';
import {
  agentSettingsSchema,
  filterEnvironment,
  newRootId,
  sessionSettingsSchema,
} from '../protocol/index.ts';
import { ensureServer, stopServer } from '../server/index.ts';
import {
  type Answer,
  type Answerer,
  type ModelServer,
  startModelServer,
} from '../test/support/model-server.ts';
import type { SeenRequest } from '../test/support/wire-requests.ts';
import type { Contender, SessionAnswerer, SessionEnd, SessionOptions } from './contender.ts';

/** The built one, as people run it: from source, workflows are bundled on the spot and keep a source map. */
const { createWorker } = (await import(
  new URL('../dist/worker/index.js', import.meta.url).href
)) as typeof import('../worker/index.ts');

export interface StageOptions {
  /** A server that runs; default: an embedded one of its own, with its database in a file. */
  address?: string;
}

/** Cadre on a server, with a worker in this process and a model that answers at once. */
export class Stage implements Contender {
  readonly name = 'Cadre';
  readonly home: string;
  readonly folder: string;
  readonly address: string;
  readonly model: ModelServer;
  readonly client: CadreClient;
  #answerer: Answerer = () => ({ text: 'nothing to do' });

  private constructor(
    home: string,
    folder: string,
    address: string,
    model: ModelServer,
    client: CadreClient,
  ) {
    this.home = home;
    this.folder = folder;
    this.address = address;
    this.model = model;
    this.client = client;
  }

  static async open(options: StageOptions = {}): Promise<Stage> {
    const home = mkdtempSync(join(tmpdir(), 'cadre-bench-'));
    const folder = mkdtempSync(join(tmpdir(), 'cadre-bench-work-'));
    writeFileSync(join(folder, 'small.txt'), 'one line\n');
    let stage: Stage | undefined;
    const model = await startModelServer((request) => stage?.answer(request) ?? { text: '' }, {
      wires: ['responses'],
    });
    const address = options.address ?? (await ensureServer({ home })).address;
    const client = await CadreClient.connect({ address });
    stage = new Stage(home, folder, address, model, client);
    return stage;
  }

  answer(...args: Parameters<Answerer>): ReturnType<Answerer> {
    // Nobody looks at them again, and those of a long conversation fill the memory.
    this.model.requests.length = 0;
    return this.#answerer(...args);
  }

  /** Runs one session whose model answers as the function says; yields its id and how long it took, in ms. */
  async session(
    answerer: SessionAnswerer,
    options: SessionOptions & { meanwhile?: (id: string) => Promise<void> } = {},
  ): Promise<SessionEnd> {
    const id = newRootId(Date.now(), Math.random);
    this.#answerer = (request) => answerer(request, id);
    const queue = `cadre-local/${id}`;
    const worker = await createWorker({ address: this.address, queue, stateDir: this.home });
    const started = performance.now();
    const agent = await this.client.start({
      id,
      queue,
      task: 'bench',
      source: { kind: 'api' },
      settings: agentSettingsSchema.parse({
        model: 'test-model',
        provider: 'bench',
        working_directory: this.folder,
        sandbox_mode: 'danger-full-access',
        limits: { max_steps: 100_000, max_threads: options.children },
      }),
      session: sessionSettingsSchema.parse({
        one_shot: true,
        environment: filterEnvironment(process.env),
        model_providers: {
          bench: { base_url: this.model.url, wire_api: 'responses', models: ['test-model'] },
        },
        search_attributes: [
          'CadreSession',
          'CadreParent',
          'CadreRole',
          'CadreStatus',
          'CadreModel',
          'CadreDepth',
        ],
      }),
    });
    const meanwhile = options.meanwhile?.(id);
    const { status } = await agent.result();
    const ms = performance.now() - started;
    await meanwhile;
    await worker.stop();
    return { id, ms, status };
  }

  delegation(children: number): Answer[] {
    const call = { name: 'spawn_agent', arguments: { message: 'read it' } };
    const ids = Array.from({ length: children }, (_, index) => `default-${index + 1}`);
    return [
      { calls: Array.from({ length: children }, () => call) },
      { calls: [{ name: 'wait', arguments: { ids, mode: 'all', timeout_ms: 1_800_000 } }] },
    ];
  }

  isChild(request: SeenRequest): boolean {
    return request.agent.id.includes('/');
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.model.close();
    await stopServer(this.home);
    for (const folder of [this.home, this.folder]) rmSync(folder, { recursive: true, force: true });
  }
}
