import type { ErrorBody } from '../../protocol/index.ts';
import type { AgentState } from '../agent-state.ts';

/**
 * One tool call of a dialect: arguments that were checked go in, the result becomes the output of the call.
 *
 * @throws Refused what the model reads as a refusal
 * @throws Failed a result that counts as a failure
 */
export type DialectTool = (agent: AgentState, callId: string, args: unknown) => Promise<unknown>;

/** How a dialect maps its tools to operations; what a model is offered stands in `protocol/`, under the same names. */
export interface Dialect {
  tools: Readonly<Record<string, DialectTool>>;
  /** Tools that start something and wait for nothing, so that several of one answer run side by side. */
  sideBySide: readonly string[];
  /** How it words a refusal; default: as the operation does. */
  refusal?: (error: ErrorBody) => ErrorBody;
}
