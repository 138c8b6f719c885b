import { z } from 'zod';
import type { DialectTools, OperationTool } from './dialect-tools.ts';
import { isBlank, messageTextSchema } from './message-size.ts';
import { boundedText, NAME_MAX } from './text-length.ts';

export const subagentRunArguments = z.strictObject({
  name: boundedText(NAME_MAX).min(1).describe('Which sub-agent, by the name that subagent_list gives'),
  task: messageTextSchema
    .refine((task) => !isBlank(task), { error: 'it is blank' })
    .describe('What it is to do, complete in itself: it sees nothing of this conversation'),
  model: boundedText(NAME_MAX).min(1).optional().describe('Another model than its own'),
});
export type SubagentRunArguments = z.infer<typeof subagentRunArguments>;

/** What has come of a run; in a conversation it is JSON text, elsewhere the fields themselves. */
export const subagentResultSchema = z.strictObject({
  agent_name: z.string(),
  task: z.string(),
  success: z.boolean(),
  /** Its final answer; empty where there is none. */
  output: z.string(),
  /** Why there is none: what its model, a limit or a person has ended it with. */
  error: z.string().optional(),
});
export type SubagentResult = z.infer<typeof subagentResultSchema>;

const namedTools: readonly OperationTool[] = [
  {
    name: 'subagent_run',
    description:
      'Runs a sub-agent on a task and waits for its result: {agent_name, task, success, output, error?}. Several of one answer run side by side.',
    parameters: subagentRunArguments,
    delegates: true,
    summary: (args) => {
      const { name, task } = args as SubagentRunArguments;
      return `${name} ${task}`;
    },
  },
];

/** `subagent_list` and `subagent_describe`, which only read roles, are ordinary tools beside the one operation. */
export const namedDialect: DialectTools = {
  operations: namedTools,
  readers: ['subagent_list', 'subagent_describe'],
  tooDeep: 'Sub-agents are not enabled in this nested context',
  presumed: { max_depth: 1 },
  guidance: {
    text: 'subagent_run does one piece of work with a sub-agent of its own and returns what it answered; subagent_list names those that there are, subagent_describe shows one whole. It pays for parts that are independent and large enough to be worth explaining: several runs in one answer go side by side. A sub-agent sees nothing of this conversation, so its task must carry the goal, the places to look, the limits, and what to hand back. Check what matters in its result.',
  },
};
