import { z } from 'zod';
import { counted } from './counted.ts';
import type { DialectTools, OperationTool } from './dialect-tools.ts';
import { AGENT_ID_MAX } from './ids.ts';
import { messagePartsSchema, messageTextSchema, requireOneMessage } from './message-size.ts';
import { NOTE_MAX, noteSchema } from './note.ts';
import { REASONING_EFFORTS } from './settings.ts';
import { boundedText, NAME_MAX, PATH_MAX } from './text-length.ts';

const message = messageTextSchema.optional();
const items = messagePartsSchema.optional();
const name = boundedText(NAME_MAX).min(1);
const reference = boundedText(AGENT_ID_MAX).min(1);

export const spawnAgentArguments = z
  .strictObject({
    message: message.describe('The task, complete in itself: the new agent sees nothing else'),
    items: items.describe('The task as a list of parts, instead of message'),
    agent_type: name.optional().describe('Role of the new agent; default: default'),
    agent_name: name.optional().describe('A persona inside the role'),
    working_directory: boundedText(PATH_MAX)
      .min(1)
      .optional()
      .describe("Another directory than yours needs a person's approval"),
    model: name.optional(),
    reasoning_effort: z.enum(REASONING_EFFORTS).optional(),
    // One that cannot be kept is no reason to start no agent.
    thread_note: z
      .string()
      .optional()
      .describe(`A note for whoever looks at the tree, of up to ${counted(NOTE_MAX, 'character')}`),
    fork_context: z.boolean().optional().describe('Start from a copy of your own conversation'),
    max_turns: z.int().positive().optional(),
    max_steps: z.int().positive().optional(),
    max_runtime_ms: z.int().positive().optional(),
  })
  .superRefine(requireOneMessage);
export type SpawnAgentArguments = z.infer<typeof spawnAgentArguments>;

const agentId = reference.describe('Id or name of the agent');

export const sendInputArguments = z
  .strictObject({
    id: agentId,
    message,
    items,
    interrupt: z.boolean().default(false).describe('Stop what it does now and start over with this input'),
  })
  .superRefine(requireOneMessage);
export type SendInputArguments = z.infer<typeof sendInputArguments>;

export const waitArguments = z.strictObject({
  ids: z.array(reference).min(1).max(1_000),
  timeout_ms: z.int().positive().optional().describe('Milliseconds; clamped to the limits of the session'),
  mode: z
    .enum(['any', 'all'])
    .default('any')
    .describe('any: until the first is final; all: until every one is'),
});
export type WaitArguments = z.infer<typeof waitArguments>;

export const closeAgentArguments = z.strictObject({ id: agentId });
export type CloseAgentArguments = z.infer<typeof closeAgentArguments>;

export const resumeAgentArguments = z.strictObject({ id: agentId });
export type ResumeAgentArguments = z.infer<typeof resumeAgentArguments>;

export const listActiveAgentsArguments = z.strictObject({
  scope: z
    .enum(['children', 'descendants', 'all'])
    .default('children')
    .describe('children: yours; descendants: all below you; all: every sub-agent of the session'),
  include_tree: z.boolean().default(false).describe('Adds parent_thread_id and depth'),
  include_closed: z.boolean().default(false),
});
export type ListActiveAgentsArguments = z.infer<typeof listActiveAgentsArguments>;

export const setThreadNoteArguments = z.strictObject({
  id: agentId,
  note: noteSchema.describe('At most 1,000 characters; blank text clears it'),
});
export type SetThreadNoteArguments = z.infer<typeof setThreadNoteArguments>;

/** The operations of the collab dialect. `list_agents`, which only reads roles, is an ordinary tool beside them. */
export const collabTools: readonly OperationTool[] = [
  {
    name: 'spawn_agent',
    description:
      'Starts a sub-agent that works on a task of its own beside you. Answers with its id at once; use wait for the result. Close it when you need it no more.',
    parameters: spawnAgentArguments,
    delegates: true,
  },
  {
    name: 'send_input',
    description:
      'Sends input to an agent. One that works sees it before its next model call; one that is idle starts to work on it.',
    sends: true,
    parameters: sendInputArguments,
  },
  {
    name: 'wait',
    description:
      'Waits until agents have finished and returns their status with their last message. A time-out is no error: wait again, or go on with something else.',
    parameters: waitArguments,
  },
  {
    name: 'close_agent',
    description:
      'Closes an agent and all agents below it; answers with the status it had and the ids that were closed.',
    parameters: closeAgentArguments,
  },
  {
    name: 'resume_agent',
    description:
      'Brings a closed agent back, with its conversation, role and tools; it does nothing until it gets input.',
    parameters: resumeAgentArguments,
  },
  {
    name: 'list_active_agents',
    description:
      'Lists sub-agents that still take input, with their status and how long they have had it, and how many slots are taken.',
    parameters: listActiveAgentsArguments,
  },
  {
    name: 'set_thread_note',
    description: 'Sets the note that people see beside an agent: you, or one below you.',
    parameters: setThreadNoteArguments,
  },
];

export const collabDialect: DialectTools = {
  operations: collabTools,
  readers: ['list_agents'],
  tooDeep: 'Agent depth limit reached. Solve the task yourself.',
  guidance: {
    of: ['spawn_agent'],
    text: 'With spawn_agent you can hand out work. It pays for parts that are independent and large enough to be worth explaining; do the rest yourself. A new agent sees nothing of this conversation: its task must carry the goal, the places to look, the limits, and what to hand back. Start all that can run side by side before you wait, give agents that write separate files to write, and go on with your own part meanwhile. wait returns what they answered; a time-out is no failure. Check what matters in their results, and close agents that you need no more.',
  },
};
