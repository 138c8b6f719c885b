import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CadreClient } from '../client/index.ts';
import {
  agentSettingsSchema,
  filterEnvironment,
  type Limits,
  newRootId,
  sessionSettingsSchema,
} from '../protocol/index.ts';
import { ensureServer, stopServer } from '../server/index.ts';
import { type Answerer, type ModelServer, startModelServer } from '../test/support/model-server.ts';
import { createWorker } from '../worker/index.ts';

/** A server with its database in a file, a worker in this process, and a model that answers at once. */
export class Stage {
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

  static async open(): Promise<Stage> {
    const home = mkdtempSync(join(tmpdir(), 'cadre-bench-'));
    const folder = mkdtempSync(join(tmpdir(), 'cadre-bench-work-'));
    writeFileSync(join(folder, 'small.txt'), 'one line\n');
    let stage: Stage | undefined;
    const model = await startModelServer((request) => stage?.answer(request) ?? { text: '' }, {
      wires: ['responses'],
    });
    const server = await ensureServer({ home });
    const client = await CadreClient.connect({ address: server.address });
    stage = new Stage(home, folder, server.address, model, client);
    return stage;
  }

  answer(...args: Parameters<Answerer>): ReturnType<Answerer> {
    return this.#answerer(...args);
  }

  /** Runs one session whose model answers as the function says; yields its id and how long it took, in ms. */
  async session(
    answerer: Answerer,
    options: { limits?: Partial<Limits>; meanwhile?: (id: string) => Promise<void> } = {},
  ): Promise<{ id: string; ms: number; status: string }> {
    this.#answerer = answerer;
    const id = newRootId(Date.now(), Math.random);
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
        limits: options.limits ?? {},
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

  async close(): Promise<void> {
    await this.client.close();
    await this.model.close();
    await stopServer(this.home);
    for (const folder of [this.home, this.folder]) rmSync(folder, { recursive: true, force: true });
  }
}
