import {
  type AgentEvent,
  type AgentId,
  CadreError,
  type Item,
  type KeyRing,
  type RolloutAgent,
  type RolloutBody,
  type RolloutHeader,
  type RolloutOutput,
  rolloutAgentSchema,
} from '../protocol/index.ts';
import type { FileLine } from './lines.ts';
import { readRollout, rereadLines } from './read-rollout.ts';

type Place = Pick<FileLine, 'offset' | 'number'>;

interface Known {
  line: RolloutAgent;
  place: Place;
  /** Of every so many items. */
  items: Place[];
  end: number;
}

const ITEMS_APART = 100;

/** A rollout that lies in a file, and is whole: what it holds is read when it is asked for. */
export class Rollout {
  readonly path: string;
  readonly header: RolloutHeader;
  /** The same for the same content, whenever and however it was written. */
  readonly sha256: string;
  /** How many lines it has. */
  readonly lines: number;
  readonly #keys: KeyRing | undefined;
  readonly #agents: ReadonlyMap<AgentId, Known>;
  readonly #outputs: ReadonlyMap<string, Place>;

  private constructor(path: string, keys: KeyRing | undefined, index: Index) {
    this.path = path;
    this.header = index.header;
    this.sha256 = index.sha256;
    this.lines = index.lines;
    this.#keys = keys;
    this.#agents = index.agents;
    this.#outputs = index.outputs;
  }

  /** @throws as `readRollout`: all of it is checked */
  static async open(path: string, keys: KeyRing | undefined): Promise<Rollout> {
    return new Rollout(path, keys, await indexOf(path, keys));
  }

  /** The root first, parents before their children. */
  get agents(): AgentId[] {
    return [...this.#agents.keys()];
  }

  get handles(): string[] {
    return [...this.#outputs.keys()];
  }

  /** An agent as it is brought back: settings that have come since it was written have their defaults. */
  agent(id: AgentId): RolloutAgent | undefined {
    const line = this.#agents.get(id)?.line;
    if (line === undefined) return undefined;
    const { settings, session } = rolloutAgentSchema.parse(line);
    return { ...line, settings, ...(session === undefined ? {} : { session }) };
  }

  /** All lines of an agent, as they were written. */
  async *linesOf(id: AgentId): AsyncGenerator<RolloutBody> {
    const known = this.#agents.get(id);
    if (known === undefined) return;
    for await (const { line, number } of this.#reread(known.place)) {
      if (number > known.end) return;
      yield line as RolloutBody;
    }
  }

  /** Items from `from` on, at least one, up to so many bytes of JSON. */
  async items(id: AgentId, from: number, to: number, bytes: number): Promise<Item[]> {
    const place = this.#agents.get(id)?.items[Math.floor(from / ITEMS_APART)];
    const items: Item[] = [];
    if (place === undefined) return items;
    let size = 0;
    for await (const { line, text } of this.#reread(place)) {
      if (line.type !== 'item' || line.agent_id !== id || line.index >= to) break;
      if (line.index < from) continue;
      size += Buffer.byteLength(text);
      if (items.length > 0 && size > bytes) break;
      items.push(line.item);
    }
    return items;
  }

  async *events(id: AgentId): AsyncGenerator<AgentEvent> {
    for await (const line of this.linesOf(id)) if (line.type === 'event') yield line.event;
  }

  /** The items that summaries have replaced in that run. */
  async *replaced(id: AgentId, runId: string): AsyncGenerator<Item> {
    for await (const line of this.linesOf(id)) {
      if (line.type === 'replaced' && line.run_id === runId) yield line.item;
    }
  }

  async output(handle: string): Promise<RolloutOutput | undefined> {
    const place = this.#outputs.get(handle);
    if (place === undefined) return undefined;
    for await (const { line } of this.#reread(place)) return line.type === 'output' ? line : undefined;
    return undefined;
  }

  /** Everything between header and end. */
  async *body(): AsyncGenerator<RolloutBody> {
    let sha256 = '';
    for await (const { line } of readRollout(this.path, this.#keys)) {
      if (line.type === 'end') sha256 = line.sha256;
      else if (line.type !== 'rollout') yield line;
    }
    if (sha256 === this.sha256) return;
    throw new CadreError('rollout_invalid', `${this.path} was written anew while it was being read.`);
  }

  #reread(place: Place) {
    return rereadLines(this.path, place, this.header.sealed === true, this.#keys);
  }
}

interface Index {
  header: RolloutHeader;
  sha256: string;
  lines: number;
  agents: Map<AgentId, Known>;
  outputs: Map<string, Place>;
}

async function indexOf(path: string, keys: KeyRing | undefined): Promise<Index> {
  const agents = new Map<AgentId, Known>();
  const outputs = new Map<string, Place>();
  let header: RolloutHeader | undefined;
  let current: Known | undefined;
  let end = { sha256: '', lines: 0 };
  for await (const { line, number, offset } of readRollout(path, keys)) {
    const place = { number, offset };
    switch (line.type) {
      case 'rollout':
        header = line;
        break;
      case 'agent':
        current = { line, place, items: [], end: number };
        agents.set(current.line.identity.agent_id, current);
        break;
      case 'item':
      case 'replaced':
      case 'event':
        if (current === undefined) break;
        current.end = number;
        if (line.type === 'item' && line.index % ITEMS_APART === 0) current.items.push(place);
        break;
      case 'output':
        outputs.set(line.handle, place);
        break;
      case 'end':
        end = line;
    }
  }
  return { header: header as RolloutHeader, ...end, agents, outputs };
}
