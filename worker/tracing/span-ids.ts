import { createHash, randomBytes } from 'node:crypto';
import type { AgentId, SessionId } from '../../protocol/index.ts';

/** The trace of a session: every worker that does something for it comes to the same. */
export function traceIdOf(session: SessionId): string {
  return hex(`trace ${session}`, 16);
}

/** The span of one turn, known before it is written: what happens in the turn is put below it by other workers. */
export function turnSpanId(agent: AgentId, turn: number): string {
  return hex(`turn ${turn} of ${agent}`, 8);
}

/** The span of a call that the workflow carries out: telling it twice makes it one span. */
export function operationSpanId(agent: AgentId, turn: number, step: number, callId: string): string {
  return hex(`call ${callId} of step ${step} of turn ${turn} of ${agent}`, 8);
}

function hex(text: string, bytes: number): string {
  return createHash('sha256')
    .update(text)
    .digest('hex')
    .slice(0, 2 * bytes);
}

export interface SpanIds {
  traceId: string;
  spanId: string;
}

let next: SpanIds | undefined;
let inUse = false;

/**
 * The `idGenerator` of a tracer provider that shall show the spans of agents in their order: the spans of turns get the
 * ids that other spans already name as their parent. All other ids are random.
 */
export class SpanIdGenerator {
  constructor() {
    inUse = true;
  }

  generateTraceId(): string {
    return next?.traceId ?? randomBytes(16).toString('hex');
  }

  generateSpanId(): string {
    return next?.spanId ?? randomBytes(8).toString('hex');
  }
}

/** Whether a span can have an id of ours, as far as is known here. */
export function idsCanBeChosen(): boolean {
  return inUse;
}

/** Starts a span under these ids, where the provider takes its ids from here. */
export function withIds<T>(ids: SpanIds, start: () => T): T {
  next = ids;
  try {
    return start();
  } finally {
    next = undefined;
  }
}
