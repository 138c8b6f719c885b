import type { Client, WorkflowHandle } from '@temporalio/client';
import type {
  AgentEvent,
  AgentId,
  AgentResult,
  AgentView,
  EventsPage,
  EventType,
  Item,
  ItemsPage,
  Operate,
  OperateAnswer,
  OperateOutcome,
  TreeView,
} from '../../protocol/index.ts';
import { eventually } from './eventually.ts';
import type { Past, Play } from './scripted-activities.ts';

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

  /** In its newest run, where none is named. */
  agent(name = 'root', runId?: string): WorkflowHandle {
    return this.#client.workflow.getHandle(this.idOf(name), runId);
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

  /** What was too long for a conversation, by the number in its handle. */
  get stored(): readonly string[] {
    return this.#play.stored;
  }

  /** Has something happen to what an agent was in earlier runs. */
  past(name: string, past: Past): void {
    this.#play.pasts.set(name, past);
  }

  result(): Promise<AgentResult> {
    return this.agent().result() as Promise<AgentResult>;
  }

  send(payload: unknown, name = 'root'): Promise<void> {
    return this.agent(name).signal<[unknown]>('send_input', payload);
  }

  /** A tool call as a program makes it up, at once; what has come of it tells `outcomeOf`. */
  async call(tool: string, args: unknown = {}, name = 'root'): Promise<string> {
    const request: Operate = { operation: 'call', tool, arguments: JSON.stringify(args) };
    const answer = await this.agent(name).executeUpdate<OperateAnswer, [Operate]>('_operate', {
      args: [request],
    });
    return answer.operation_id;
  }

  /** What has come of such a call when it is done. */
  outcomeOf(operation: string, name = 'root'): Promise<Extract<OperateOutcome, { state: 'done' }>> {
    return eventually(async () => {
      const query = { operation_id: operation };
      const outcome = await this.agent(name).query<OperateOutcome, [unknown]>('_outcome', query);
      if (outcome.state !== 'done') throw new Error(`${operation} is ${outcome.state}`);
      return outcome;
    });
  }

  /** Waits until the agent is there and its view is as wanted. */
  until(name: string, wanted: (view: AgentView) => boolean): Promise<AgentView> {
    return eventually(async () => {
      const view = await this.status(name);
      if (!wanted(view)) throw new Error(`${name} is ${JSON.stringify(view)}`);
      return view;
    });
  }

  /** Waits until that turn of the agent has ended, and the root has heard of it. */
  async untilFinal(name = 'root', turn = 1): Promise<AgentView> {
    const view = await this.until(name, (view) => view.is_final && view.turn >= turn);
    const isHeard = (known: AgentView) =>
      known.agent_id === view.agent_id && known.is_final && known.turn >= turn;
    await eventually(async () => {
      const { agents } = await this.tree();
      if (!agents.some(isHeard)) throw new Error(`the root has not heard of turn ${turn} of ${name}`);
    });
    return view;
  }
}
