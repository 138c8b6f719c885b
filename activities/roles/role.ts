import { z } from 'zod';
import { dialectSchema } from '../../protocol/index.ts';

const names = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(','))])
  .transform((list) => list.map((name) => name.trim()).filter((name) => name !== ''));

/** The share of an agent with all below it in the tokens of its session. */
const tokens = z.int().positive();

const personaSchema = z.strictObject({
  name: z.string().trim().min(1),
  description: z.string().trim().optional(),
  model: z.string().trim().min(1).optional(),
  reasoning_effort: z.string().trim().min(1).optional(),
  /** In place of the role's. */
  max_tokens: tokens.optional(),
  prompt: z.string().trim().optional(),
});
/** A named variant inside a role. */
export type Persona = z.output<typeof personaSchema>;

/** The frontmatter of a role's file. Unknown keys are told apart before, they only warn. */
export const frontmatterSchema = z.object({
  description: z.string().trim().min(1),
  /** Absent: all tools; empty: none. */
  tools: names.optional(),
  allow_list: names.optional(),
  deny_list: names.optional(),
  model: z.string().trim().min(1).optional(),
  reasoning_effort: z.string().trim().min(1).optional(),
  /** Forces the read-only sandbox and takes away every tool that writes. */
  read_only: z.boolean().optional(),
  dialect: dialectSchema.optional(),
  max_turns: z.int().positive().optional(),
  max_steps: z.int().positive().optional(),
  max_tokens: tokens.optional(),
  agent_names: z.array(personaSchema).optional(),
});

/** What an agent is told and may do. */
export interface Role extends z.output<typeof frontmatterSchema> {
  name: string;
  /** What an agent of this role is told: the text below the frontmatter. */
  body: string;
}
