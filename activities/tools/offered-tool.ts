import type { z } from 'zod';
import type { PlannedCall } from '../../protocol/index.ts';

/** A tool as one agent is offered it: what its model sees, and how a call of it becomes work for the workflow. */
export interface OfferedTool {
  name: string;
  /** Other names under which models call it; not offered, but taken. */
  aliases?: readonly string[];
  description: string;
  /** An object schema; arguments are checked against it before `plan` sees them. */
  parameters: z.ZodType;
  /** As models are shown it; default: that of `parameters`. */
  schema?: Record<string, unknown>;
  /**
   * Says how the workflow runs this call. `arguments` has passed `parameters`, defaults filled in.
   * A `CadreError` thrown here refuses the call with that error.
   */
  plan(call: { call_id: string; name: string; arguments: unknown }): PlannedCall;
}
