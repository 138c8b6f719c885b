import type { Client, WorkflowHandle } from '@temporalio/client';
import { vi } from 'vitest';
import type {
  AgentEvent,
  AgentId,
  AgentResult,
  AgentView,
  EventsPage,
  EventType,
  Item,
  ItemsPage,
  TreeView,
} from '../../protocol/index.ts';
import type { Play } from './scripted-activities.ts';

/** Long, since the machine may be busy with other tests. */
const PATIENCE_MS = 45_000;

/** A session whose models and tools are scripted, seen as Temporal's own clients see it. Agents go by short names. */
export class ScriptedSession {
  readonly id: AgentId;
  readonly #client: Client;
  readonly #play: Play;

  constructor(client: Client, id: AgentId, play: Play) {
    this.#client = client;
    this.id = id;
    this.#play = play;
  }

  idOf(name: string): AgentId {
    return name === 'root' ? this.id : (`${this.id}/${name}` as AgentId);
  }

  agent(name = 'root'): WorkflowHandle {
    return this.#client.workflow.getHandle(this.idOf(name));
  }

  status(name = 'root'): Promise<AgentView> {
    return this.agent(name).query<AgentView>('status');
  }

  tree(): Promise<TreeView> {
    return this.agent().query<TreeView>('tree');
  }

  async items(name = 'root'): Promise<Item[]> {
    const items: Item[] = [];
    for (let from: number | undefined = 0; from !== undefined; ) {
      const page: ItemsPage = await this.agent(name).query<ItemsPage, [unknown]>('items', { from });
      items.push(...page.items);
      from = page.next;
    }
    return items;
  }

  async events(name = 'root'): Promise<AgentEvent[]> {
    return (await this.agent(name).query<EventsPage>('events')).events;
  }

  /** Events of one type, with its fields. */
  async eventsOf<T extends EventType>(type: T, name = 'root'): Promise<Extract<AgentEvent, { type: T }>[]> {
    const events = await this.events(name);
    return events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type);
  }

  /** What the model of this agent was shown, call by call. */
  asked(name = 'root'): Play['asked'] {
    return this.#play.asked.filter(({ agent }) => agent === name);
  }

  result(): Promise<AgentResult> {
    return this.agent().result() as Promise<AgentResult>;
  }

  send(payload: unknown, name = 'root'): Promise<void> {
    return this.agent(name).signal<[unknown]>('send_input', payload);
  }

  /** Waits until the agent is there and its view is as wanted. */
  until(name: string, wanted: (view: AgentView) => boolean): Promise<AgentView> {
    return vi.waitFor(
      async () => {
        const view = await this.status(name);
        if (!wanted(view)) throw new Error(`${name} is ${JSON.stringify(view)}`);
        return view;
      },
      { timeout: PATIENCE_MS, interval: 50 },
    );
  }

  untilFinal(name = 'root', turn = 1): Promise<AgentView> {
    return this.until(name, (view) => view.is_final && view.turn >= turn);
  }
}
