import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { AgentId, QUERIES } from '../protocol/index.ts';

/** Asks a run of an agent; undefined where the server has nothing of that run any more, or nothing ever happened in it. */
export type AskRun = <Answer>(
  agent: AgentId,
  runId: string,
  query: (typeof QUERIES)[keyof typeof QUERIES],
  payload: unknown,
) => Promise<Answer | undefined>;

/** The runs of agents, as far as Temporal keeps them. */
export class AgentRuns {
  readonly ask: AskRun;
  readonly #client: Client;

  constructor(client: Client, ask: AskRun) {
    this.#client = client;
    this.ask = ask;
  }

  /** The newest run, and the queue that it lives on; undefined for an agent that the server does not know. */
  async newest(agent: AgentId): Promise<{ runId: string; queue: string } | undefined> {
    try {
      const { runId, taskQueue } = await this.#client.workflow.getHandle(agent).describe();
      return { runId, queue: taskQueue };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }

  /** Every run up to that one, the oldest first: over its lives, and within each what was continued as new. */
  async upTo(agent: AgentId, runId: string): Promise<string[]> {
    const listed: { runId: string; started: number }[] = [];
    for await (const { runId, startTime } of this.#client.workflow.list({
      query: `WorkflowId = "${agent}"`,
    })) {
      listed.push({ runId, started: startTime.getTime() });
    }
    const known = listed.sort((a, b) => a.started - b.started).map((run) => run.runId);
    // The list is a moment behind: what has just continued as new leads back to what stands in it.
    const newer: string[] = [];
    for (let at: string | undefined = runId; at !== undefined && !known.includes(at); ) {
      newer.unshift(at);
      at = await this.#before(agent, at);
    }
    const all = [...known, ...newer];
    return all.slice(0, all.indexOf(runId) + 1);
  }

  async #before(workflowId: AgentId, runId: string): Promise<string | undefined> {
    const { history } = await this.#client.workflowService.getWorkflowExecutionHistory({
      namespace: this.#client.options.namespace,
      execution: { workflowId, runId },
      maximumPageSize: 1,
    });
    const [first] = history?.events ?? [];
    return first?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
  }
}
