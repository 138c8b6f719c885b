import type { z } from 'zod';
import type { Limits } from './limits.ts';

/** A tool that works on the tree of agents; its arguments are checked before the workflow sees the call. */
export interface OperationTool {
  name: string;
  description: string;
  parameters: z.ZodType;
  /** It hands out work: where `plan_first` asks for it, a plan has to be made before. */
  delegates?: true;
  /** It sends messages to agents that are there: what denies that, denies it. */
  sends?: true;
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
  /** What a session has where a root speaks it, and nobody says otherwise. */
  presumed?: Readonly<Partial<Limits>>;
  /** More agents may not be at work at the same time below a root that speaks it; default: the ceiling of all. */
  threadsMax?: number;
  /** How its tools are used, for the instructions of whoever has those that it speaks of; default: all of them. */
  guidance: { text: string; of?: readonly string[] };
}
