import type { CadreClient } from '../client/client.ts';
import { type ConnectOptions, DEFAULT_NAMESPACE } from '../protocol/connection.ts';
import { CadreError } from '../protocol/errors.ts';
import type { AgentId } from '../protocol/ids.ts';
import { lives, type ServerRecord } from '../server/record.ts';
import type { Config } from './config/schema.ts';
import { tlsOptions } from './config/tls.ts';
import type { Output } from './output.ts';
import { type Encryption, ensureCodecServer } from './serving/codec-process.ts';
import { isStoppedOnPurpose } from './serving/stopped-server.ts';

/** How often the embedded server is looked after. */
const LOOK_MS = 1_000;

export interface LinkOptions {
  temporal: Config['temporal'];
  /** CADRE_HOME: where the embedded server keeps its record and data. */
  home: string;
  output: Output;
  /** What goes to Temporal is sealed with its keys. */
  encryption?: Encryption | undefined;
}

/**
 * The way to Temporal. A configured address wins and nothing is started for it; without one there is the embedded
 * server, which is started when it does not run, and found again when it was started anew elsewhere.
 */
export class TemporalLink {
  readonly #options: LinkOptions;
  #client: CadreClient;
  #connect: ConnectOptions;
  #server: ServerRecord | undefined;
  #generation = 0;
  #reviving: Promise<boolean> | undefined;
  #toldOfStop = false;
  readonly #watch: NodeJS.Timeout;

  private constructor(options: LinkOptions, found: Found) {
    this.#options = options;
    this.#client = found.client;
    this.#connect = found.connect;
    this.#server = found.server;
    this.#watch = setInterval(() => void this.#look().catch(() => {}), LOOK_MS).unref();
  }

  /** @throws CadreError `temporal_unreachable` or `server_unavailable`, within seconds */
  static async open(options: LinkOptions): Promise<TemporalLink> {
    return new TemporalLink(options, await find(options));
  }

  get isEmbedded(): boolean {
    return this.#options.temporal.address === undefined;
  }

  /** Whether Cadre's search attributes are there for sure: the embedded server registers them in its own namespace. */
  get hasSearchAttributes(): boolean {
    return this.isEmbedded && this.#client.namespace === DEFAULT_NAMESPACE;
  }

  get client(): CadreClient {
    return this.#client;
  }

  get connectOptions(): ConnectOptions {
    return this.#connect;
  }

  /** Counts up with every new address. */
  get generation(): number {
    return this.#generation;
  }

  /** Where an agent is seen in the Temporal Web UI; only the embedded server's is known. */
  webAddress(id: AgentId): string | undefined {
    if (this.#server === undefined) return undefined;
    return `${this.#server.ui}/namespaces/${this.#client.namespace}/workflows/${encodeURIComponent(id)}`;
  }

  /**
   * Does something with the client, and once more when the server had to be found or started again first.
   * A configured server is waited for by whoever calls, not here.
   */
  async reach<T>(action: (client: CadreClient) => Promise<T>): Promise<T> {
    try {
      return await action(this.#client);
    } catch (error) {
      const lost = error instanceof CadreError && error.code === 'temporal_unreachable';
      if (!lost || !(await this.#revive())) throw error;
      return action(this.#client);
    }
  }

  /** The connections end with the process: to close one under a call that is being retried would end it badly. */
  close(): void {
    clearInterval(this.#watch);
  }

  /** A call whose server has died is retried for half a minute before it fails; the death itself is seen at once. */
  async #look(): Promise<void> {
    if (this.#server !== undefined && !(await lives(this.#server))) await this.#revive();
  }

  /** Finds the embedded server again; all who miss it at the same time share one search. */
  #revive(): Promise<boolean> {
    if (!this.isEmbedded) return Promise.resolve(false);
    this.#reviving ??= this.#findAgain().finally(() => {
      this.#reviving = undefined;
    });
    return this.#reviving;
  }

  async #findAgain(): Promise<boolean> {
    const { home, output } = this.#options;
    if (await isStoppedOnPurpose(home)) {
      if (!this.#toldOfStop) output.warn('The Temporal server was stopped; this goes on when it runs again.');
      this.#toldOfStop = true;
      return false;
    }
    const found = await find(this.#options);
    if (found.connect.address !== this.#connect.address) this.#generation++;
    this.#client = found.client;
    this.#connect = found.connect;
    this.#server = found.server;
    this.#toldOfStop = false;
    return true;
  }
}

interface Found {
  client: CadreClient;
  connect: ConnectOptions;
  /** Of the embedded server. */
  server?: ServerRecord;
}

async function find(options: LinkOptions): Promise<Found> {
  const { temporal, home, output, encryption: { keys, config } = {} } = options;
  const encryption = keys === undefined ? {} : { encryption: keys };
  const client = import('../client/client.ts');
  if (temporal.address !== undefined) {
    const tls = tlsOptions(temporal);
    const connect: ConnectOptions = {
      address: temporal.address,
      ...(temporal.namespace === undefined ? {} : { namespace: temporal.namespace }),
      ...(tls === undefined ? {} : { tls }),
      ...(temporal.api_key === undefined ? {} : { apiKey: temporal.api_key }),
      ...encryption,
    };
    return { client: await (await client).CadreClient.connect(connect), connect };
  }
  const { ensureServer } = await import('../server/index.ts');
  const server = await ensureServer({
    home,
    codecServer: true,
    onProgress: (text: string) => output.info(text),
  });
  await ensureCodecServer(home, server, { keys, config });
  const connect: ConnectOptions = {
    address: server.address,
    ...(temporal.namespace === undefined ? {} : { namespace: temporal.namespace }),
    ...encryption,
  };
  return { client: await (await client).CadreClient.connect(connect), connect, server };
}
