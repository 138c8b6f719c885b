import { z } from 'zod';
import { approvalPolicySchema, dialectSchema, sandboxModeSchema } from '../../protocol/index.ts';

/** What stands between commas and blanks, but for those within parentheses. */
const NAMES = /(?:[^\s,()]|\([^()]*\)?|\))+/g;

const names = z
  .union([z.array(z.string()), z.string().transform((text) => text.match(NAMES) ?? [])], {
    error: 'expected a list of names, or one text with commas; [] means none',
  })
  .transform((list) => list.map((name) => name.trim()).filter((name) => name !== ''));

/** The share of an agent with all below it in the tokens of its session. */
const tokens = z.int().positive();
const text = z
  .string({ error: ({ input }) => (input === undefined ? 'it is missing' : undefined) })
  .trim()
  .min(1);

const personaSchema = z.strictObject({
  name: text,
  description: z.string().trim().optional(),
  model: text.optional(),
  reasoning_effort: text.optional(),
  /** In place of the role's. */
  max_tokens: tokens.optional(),
  prompt: z.string().trim().optional(),
});
/** A named variant inside a role. */
export type Persona = z.output<typeof personaSchema>;

const roleSchema = z.object({
  description: text,
  /** Absent: all tools; empty: none. */
  tools: names.optional(),
  allow_list: names.optional(),
  deny_list: names.optional(),
  model: text.optional(),
  reasoning_effort: text.optional(),
  /** Forces the read-only sandbox and takes away every tool that writes. */
  read_only: z.boolean().optional(),
  /** Counts where it is stricter than what is inherited, and so does the policy. */
  sandbox_mode: sandboxModeSchema.optional(),
  approval_policy: approvalPolicySchema.optional(),
  dialect: dialectSchema.optional(),
  max_turns: z.int().positive().optional(),
  max_steps: z.int().positive().optional(),
  max_tokens: tokens.optional(),
  agent_names: z
    .array(personaSchema)
    .refine((personas) => new Set(personas.map(({ name }) => name)).size === personas.length, {
      error: 'two personas have the same name',
    })
    .optional(),
});

/** What a role's file may say: the same, and what Claude Code has other words for. */
export const fileSchema = roleSchema.extend({
  disallowedTools: names.optional(),
  permissionMode: text.optional(),
  /** Its turns are our steps. */
  maxTurns: z.int().positive().optional(),
  effort: text.optional(),
  hooks: z.record(z.string(), z.unknown()).optional(),
});
export type FileKeys = z.output<typeof fileSchema>;

/** What an agent is told and may do. */
export interface Role extends z.output<typeof roleSchema> {
  name: string;
  /** What an agent of this role is told: the text below the frontmatter. */
  body: string;
}
