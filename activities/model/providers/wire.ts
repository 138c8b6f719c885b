import type OpenAI from 'openai';
import type { Extra } from './extras.ts';
import type { ModelCall, ModelReply } from './provider.ts';

export interface WireOptions {
  signal: AbortSignal;
  onDelta: (text: string) => void;
  /** Called with everything that arrives, text or not. */
  onEvent: () => void;
  /** Parts of the request to leave out. */
  without: ReadonlySet<Extra>;
}

/** A format in which models are called over HTTP. Throws what the client throws, and the errors of broken-answer.ts. */
export type Wire = (client: OpenAI, call: ModelCall, options: WireOptions) => Promise<ModelReply>;

/** Headers by which a gateway (or a test's server) can tell agents apart. */
export function agentHeaders(call: ModelCall): Record<string, string> {
  return {
    'x-cadre-agent': encodeURIComponent(call.agent.id),
    'x-cadre-role': encodeURIComponent(call.agent.role),
  };
}
