import { createHash } from 'node:crypto';
import {
  type AgentId,
  EMPTY_DIGEST,
  extendDigest,
  parentOf,
  type RolloutAgent,
  type RolloutBody,
  type RolloutEnd,
  type RolloutEvent,
  type RolloutHeader,
  type RolloutItem,
  type RolloutOutput,
  sessionOf,
} from '../protocol/index.ts';
import { contentOf, isHandleOf } from './handle-files.ts';
import { rolloutProblem } from './problem.ts';

/** The agent whose items and events are being read. */
interface Current {
  line: RolloutAgent;
  items: number;
  digest: string;
  seq: number;
}

type Refuse = (reason: string) => never;

/** How the lines of a rollout stand together, line by line: for who reads one as for who writes one. */
export class Structure {
  readonly #header: RolloutHeader;
  readonly #hash = createHash('sha256');
  readonly #agents = new Set<AgentId>();
  #current: Current | undefined;
  #lines = 0;
  #end: RolloutEnd | undefined;

  constructor(header: RolloutHeader) {
    this.#header = header;
    const { written_at: _when, sealed: _how, ...rest } = header;
    this.#hash.update(`${JSON.stringify(rest)}\n`);
  }

  /** @throws CadreError `rollout_invalid` for a line that cannot stand here */
  take(line: RolloutBody | RolloutEnd, text: string, number: number): void {
    const refuse: Refuse = (reason) => {
      throw rolloutProblem(number, reason);
    };
    if (this.#end !== undefined) refuse('something stands behind the end');
    if (line.type === 'end') {
      this.#finish(refuse);
      if (this.#agents.size === 0) refuse('there is no agent above');
      const { sha256, agents, lines } = this.end;
      if (line.lines !== lines) refuse(`there are ${lines} lines, and there were ${line.lines}`);
      if (line.sha256 !== sha256 || line.agents !== agents) refuse('the lines above have been changed');
      this.#end = line;
      return;
    }
    this.#hash.update(`${text}\n`);
    this.#lines++;
    switch (line.type) {
      case 'agent':
        this.#finish(refuse);
        this.#begin(line, refuse);
        break;
      case 'item':
        this.#item(line, refuse);
        break;
      case 'replaced':
        if (this.#of(line.agent_id, refuse).seq > 0)
          refuse(`items of ${line.agent_id} stand behind its events`);
        break;
      case 'event':
        this.#event(line, refuse);
        break;
      case 'output':
        this.#finish(refuse);
        requireContent(line, refuse);
        break;
      case 'missing':
        this.#finish(refuse);
    }
  }

  /** The end that is due here. */
  get end(): RolloutEnd {
    const sha256 = this.#end?.sha256 ?? this.#hash.copy().digest('hex');
    return { type: 'end', agents: this.#agents.size, lines: this.#lines, sha256 };
  }

  get isWhole(): boolean {
    return this.#end !== undefined;
  }

  #begin(line: RolloutAgent, refuse: Refuse): void {
    const { agent_id: id, session_id, parent_id: parent } = line.identity;
    const { session_id: session } = this.#header;
    if (sessionOf(id) !== session || session_id !== session)
      refuse(`agent ${id} is not of session ${session}`);
    if (this.#agents.has(id)) refuse(`agent ${id} stands here twice`);
    if (parent !== parentOf(id)) refuse(`agent ${id} says that it was started by ${parent ?? 'nobody'}`);
    if (id === session) {
      if (line.session === undefined || line.state.tree === undefined)
        refuse(`the root ${id} has no session`);
    } else if (!this.#agents.has(session)) refuse('the root has to come first');
    const { conversation, children } = line.state;
    if (conversation.known > line.items)
      refuse(`the model of ${id} is to have seen ${conversation.known} items of ${line.items}`);
    const stranger = children.known.find((known) => sessionOf(known.id) !== session);
    if (stranger !== undefined)
      refuse(`agent ${id} knows ${stranger.id}, which is not of session ${session}`);
    this.#agents.add(id);
    this.#current = { line, items: 0, digest: EMPTY_DIGEST, seq: 0 };
  }

  #item({ agent_id: id, index, item }: RolloutItem, refuse: Refuse): void {
    const current = this.#of(id, refuse);
    if (index !== current.items) refuse(`item ${index} of ${id} stands where ${current.items} is due`);
    if (current.seq > 0) refuse(`items of ${id} stand behind its events`);
    current.items++;
    current.digest = extendDigest(current.digest, item);
  }

  #event({ event }: RolloutEvent, refuse: Refuse): void {
    const current = this.#of(event.agent_id, refuse);
    if (event.seq <= current.seq) refuse(`event ${event.seq} of ${event.agent_id} stands behind a later one`);
    current.seq = event.seq;
  }

  #of(id: AgentId, refuse: Refuse): Current {
    if (this.#current?.line.identity.agent_id === id) return this.#current;
    return refuse(`this belongs to ${id}, which is not the agent above`);
  }

  /** All of an agent has come by. */
  #finish(refuse: Refuse): void {
    if (this.#current === undefined) return;
    const { line, items, digest } = this.#current;
    const { agent_id: id } = line.identity;
    if (items !== line.items) refuse(`agent ${id} has ${items} items of ${line.items}`);
    if (digest !== line.state.conversation.digest) refuse(`the items of ${id} are not those that it had`);
    this.#current = undefined;
  }
}

function requireContent(line: RolloutOutput, refuse: Refuse): void {
  const content = contentOf(line);
  if (content === undefined && line.left_out === undefined) refuse(`${line.handle} has no content`);
  if (content !== undefined && !isHandleOf(line.handle, content)) {
    refuse(`${line.handle} names another content`);
  }
}
