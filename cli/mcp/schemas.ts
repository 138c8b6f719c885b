import { z } from 'zod';
import { STATUSES } from '../../protocol/index.ts';

export const reference = z
  .string()
  .min(1)
  .describe(
    'Id of an agent, such as a0k3v9x2m4qd7 or a0k3v9x2m4qd7/explorer-1; a short name (explorer-1) means one of the newest session of the folder in which the server runs',
  );

export const status = z.enum(STATUSES);

export const notices = z.array(z.string()).optional().describe('What a person should know of it');

export const errorBody = z.looseObject({
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
  retryable: z.boolean().optional(),
});

export const approval = z.looseObject({
  approval_id: z.string(),
  asking_id: z.string().describe('The agent whose turn waits for the answer'),
  role: z.string(),
  kind: z.string(),
  tool: z.string().optional(),
  summary: z.string().describe('What is to be done'),
  reason: z.string().describe('Why it is asked'),
  requested_at: z.string(),
});

export const usage = z.looseObject({
  input_tokens: z.number(),
  cached_input_tokens: z.number(),
  output_tokens: z.number(),
  reasoning_tokens: z.number(),
  total_tokens: z.number(),
});

export const seconds = z.number().positive().max(2_000_000);

export const onApproval = z
  .enum(['return', 'wait'])
  .default('return')
  .describe(
    'What to do when an agent asks for an approval and this client cannot put the question to a person: return, so that cadre_approve or cadre_deny can answer it, or wait until somebody else does',
  );
