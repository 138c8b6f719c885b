import { z } from 'zod';
import { DEPTH_MAX } from './ids.ts';

const count = (max: number) => z.int().positive().max(max);

/** `[agents]` of the configuration: what bounds a session and its agents. Times in milliseconds. */
export const limitsSchema = z.strictObject({
  max_depth: z.int().min(0).max(DEPTH_MAX).default(3),
  max_threads: count(200).default(12),
  count: z.enum(['running', 'open']).default('running'),
  when_full: z.enum(['error', 'queue']).default('error'),
  max_agents: count(100_000).default(200),
  max_turns: count(1_000_000).optional(),
  max_steps: count(1_000_000).default(200),
  max_runtime_ms: count(1e12).optional(),
  max_wall_ms: count(1e12).optional(),
  max_tokens: count(1e12).optional().describe('Of an agent with all below it; at the root: of the session'),
  max_child_tokens: count(1e12).optional().describe('The most of max_tokens that any child gets'),
  wait_min_ms: count(1e9).default(10_000),
  wait_default_ms: count(1e9).default(300_000),
  wait_max_ms: count(1e9).default(1_800_000),
  allowed_models: z.array(z.string().min(1)).optional(),
  tool_output_limit: count(1_000_000).default(10_000).describe('Tokens; longer output is cut in the middle'),
  interrupt_descendants: z.boolean().default(true),
  wake_parent: z.boolean().default(false),
  plan_first: z
    .boolean()
    .default(false)
    .describe('Before it first hands out work, an agent has to make a plan (update_plan)'),
});
export type Limits = z.infer<typeof limitsSchema>;
