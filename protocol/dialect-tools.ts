import type { z } from 'zod';

/** A tool that works on the tree of agents; its arguments are checked before the workflow sees the call. */
export interface OperationTool {
  name: string;
  description: string;
  parameters: z.ZodType;
  /** It hands out work: where `plan_first` asks for it, a plan has to be made before. */
  delegates?: true;
  /** What a call works on, in a few words, for people who watch; default: whom, and with which words. */
  summary?: (args: unknown) => string;
}

/** What a dialect offers a model. What its calls do stands under the same names in `workflows/dialects/`. */
export interface DialectTools {
  /** The tools that are operations on the tree. */
  operations: readonly OperationTool[];
  /** Ordinary tools that belong to these, and are held to the same conditions. */
  readers: readonly string[];
  /** What a call at the depth limit is told. */
  tooDeep: string;
}
