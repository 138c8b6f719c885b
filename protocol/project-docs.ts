import { z } from 'zod';

/** How many bytes of a project's own instructions an agent is told at most. */
export const PROJECT_DOC_BYTES_MAX = 128 * 1024;

export const projectDocsSchema = z.strictObject({
  /** The outermost first. */
  files: z.array(
    z.strictObject({
      path: z.string(),
      text: z.string(),
      /** Bytes at its end that had no room. */
      left_out: z.int().positive().optional(),
    }),
  ),
  /** Files that are told nothing of, or not as they are, and why. */
  notices: z.array(z.string()).optional(),
});
/** What a project says to the agents that work in it: its AGENTS.md files, as they were when the agent was started. */
export type ProjectDocs = z.infer<typeof projectDocsSchema>;
