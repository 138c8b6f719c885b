import type { Answer } from '../test/support/model-server.ts';
import type { SeenRequest } from '../test/support/wire-requests.ts';

/** What the model says to a request in the session of the agent with that workflow id. */
export type SessionAnswerer = (request: SeenRequest, id: string) => Answer | Promise<Answer>;

export interface SessionOptions {
  /** So many agents are to work below it at the same time. */
  children?: number;
}

export interface SessionEnd {
  /** Workflow id of the agent that was started. */
  id: string;
  /** From the start to the end. */
  ms: number;
  /** `completed`, or how else it ended. */
  status: string;
}

/** What runs an agent for a model that answers as a function says. */
export interface Contender {
  name: string;
  /** Address of its Temporal server. */
  address: string;
  /** Where its tool `read_file` finds files. */
  folder: string;
  session(answerer: SessionAnswerer, options?: SessionOptions): Promise<SessionEnd>;
  /** What the model says, one after the other, to have that many agents at work below it and wait for all. */
  delegation(children: number): Answer[];
  /** Whether an agent below asks, not the one that delegates. */
  isChild(request: SeenRequest): boolean;
  close(): Promise<void>;
}
