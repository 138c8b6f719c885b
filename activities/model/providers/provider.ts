import type { AgentId, Item, ReasoningEffort, Usage } from '../../../protocol/index.ts';
import type { ImagePlace } from './image-file.ts';

/** A tool as a model sees it. */
export interface ToolDeclaration {
  name: string;
  description: string;
  /** JSON schema of the arguments: an object. */
  parameters: Record<string, unknown>;
}

/** Everything that one call of a model needs. */
export interface ModelCall extends ImagePlace {
  agent: { id: AgentId; role: string };
  /** Calls that begin alike have the same, by which a provider finds its cache; default: the id of the agent. */
  cache_key?: string;
  /** Counts from 1: how often this very call has been tried. */
  attempt: number;
  model: string;
  reasoning_effort?: ReasoningEffort;
  instructions: string;
  items: readonly Item[];
  /** None: the model can only answer with text. */
  tools: readonly ToolDeclaration[];
  /** It may search the web by the provider's own tool, where that has one. */
  web_search?: true;
  /** JSON schema that a text answer has to follow. */
  output_schema?: Record<string, unknown>;
  /** The newest item asks for a summary: a script has one of its own. */
  summary?: boolean;
}

/** What a model made of it: nothing at all, when it answered nothing. */
export interface ModelReply {
  items: Item[];
  usage: Usage;
  /** It was to search the web by its provider's own tool, and this format has none. */
  without_search?: true;
  /** What people should know of how it was made. */
  warnings?: string[];
}

export interface CallOptions {
  signal: AbortSignal;
  /** Called with each piece of answer text as it arrives. */
  onDelta: (text: string) => void;
}

/** Something that answers as a model. Errors are `ModelError`; an abort rejects with any error. */
export interface ModelProvider {
  complete(call: ModelCall, options: CallOptions): Promise<ModelReply>;
}
