import { z } from 'zod';
import type { DialectTools, OperationTool } from './dialect-tools.ts';
import type { ErrorBody } from './errors.ts';
import { AGENT_ID_MAX, agentIdSchema, isChildName } from './ids.ts';
import { messagePartsSchema, messageTextSchema, requireOne } from './message-size.ts';
import { CONTRACTS, RESULT_SECTIONS } from './result-sections.ts';
import { statusSchema } from './status.ts';
import { boundedText, NAME_MAX, PATH_MAX } from './text-length.ts';

/** How many names one list of tools may have. */
const ALLOWED_TOOLS_MAX = 1_000;

const role = boundedText(NAME_MAX).min(1).optional();
const reference = boundedText(AGENT_ID_MAX).min(1).optional();

export const agentOpenArguments = z
  .strictObject({
    prompt: messageTextSchema
      .optional()
      .describe('The task, complete in itself: without fork_context the session sees nothing else'),
    items: messagePartsSchema.optional().describe('The task as a list of parts, instead of prompt'),
    name: boundedText(NAME_MAX)
      .refine(isChildName, {
        error: "no session's name: letters, digits, dots, dashes and underscores, at most 64",
      })
      .optional()
      .describe('What you will call the session by; default: its role and a number. Never used twice'),
    type: role.describe(
      'Role: general (default), explore, plan, review, implementer, verifier, custom (needs allowed_tools), or one of this project',
    ),
    agent_type: role.describe('The same as type'),
    allowed_tools: z
      .array(boundedText(NAME_MAX))
      .max(ALLOWED_TOOLS_MAX)
      .optional()
      .describe('The only tools that the session may have, of those that its role leaves; names or globs'),
    model: boundedText(NAME_MAX).min(1).optional(),
    cwd: boundedText(PATH_MAX)
      .min(1)
      .optional()
      .describe("Another directory than yours needs a person's approval"),
    fork_context: z
      .boolean()
      .optional()
      .describe('Go on from a copy of your own conversation; default: start fresh'),
    max_depth: z
      .int()
      .nonnegative()
      .optional()
      .describe('How many levels of sessions there may be below this one; 0: none. Never more than is left'),
  })
  .superRefine(({ prompt, items, type, agent_type: alias }, context) => {
    requireOne('prompt', prompt, items, context);
    if (type !== undefined && alias !== undefined && type.toLowerCase() !== alias.toLowerCase()) {
      context.addIssue({
        code: 'custom',
        message: 'type and agent_type are the same thing: give one of them',
      });
    }
  });
export type AgentOpenArguments = z.infer<typeof agentOpenArguments>;

const whom = {
  name: reference.describe('Which session, by its name'),
  agent_id: reference.describe('Which session, by its id, instead of name'),
};
interface Whom {
  name?: string | undefined;
  agent_id?: string | undefined;
}

function requireOneSession({ name, agent_id: id }: Whom, context: z.RefinementCtx): void {
  if ((name === undefined) !== (id === undefined)) return;
  context.addIssue({ code: 'custom', message: 'give either name or agent_id' });
}

export const agentEvalArguments = z
  .strictObject({
    ...whom,
    message: messageTextSchema
      .optional()
      .describe('What it is to do next, or has to know now; without one you wait for it, or look at it'),
    items: messagePartsSchema.optional().describe('The message as a list of parts, instead of message'),
    interrupt: z.boolean().default(false).describe('Stop what it does now first'),
    block: z.boolean().default(true).describe('Wait until it has finished; false: see how it stands now'),
    timeout_ms: z.int().positive().optional().describe('Milliseconds; clamped to the limits of the session'),
  })
  .superRefine((args, context) => {
    requireOneSession(args, context);
    const { message, items } = args;
    if (message !== undefined || items !== undefined) requireOne('message', message, items, context);
  });
export type AgentEvalArguments = z.infer<typeof agentEvalArguments>;

export const agentCloseArguments = z.strictObject(whom).superRefine(requireOneSession);
export type AgentCloseArguments = z.infer<typeof agentCloseArguments>;

/** How a session stands, as its tools answer. */
export const sessionProjectionSchema = z.strictObject({
  name: z.string(),
  agent_id: agentIdSchema,
  /** Its role, under the name that it has, whatever alias it was asked for by. */
  type: z.string(),
  status: statusSchema,
  /** Nothing more comes of it until it gets a message. */
  terminal: z.boolean(),
  /** It takes no message any more. */
  closed: z.literal(true).optional(),
  /** Whether it began with a copy of its parent's conversation. */
  context_mode: z.enum(['fresh', 'forked']),
  /** With how many items of that. */
  items_carried: z.int().nonnegative().optional(),
  /** Of `agent_open`: what was asked for and is not there. */
  notices: z.array(z.string()).optional(),
  /** For `handle_read`: its conversation. */
  transcript_handle: z.string(),
  /** Its answer as it was written, or why there is none. */
  message: z.string().optional(),
  /** Whether the answer has its five sections, and those that it has. */
  contract: z.enum(CONTRACTS).optional(),
  sections: z.partialRecord(z.enum(RESULT_SECTIONS), z.string()).optional(),
  timed_out: z.literal(true).optional(),
  /** There is new input for whoever waited. */
  interrupted_by_input: z.literal(true).optional(),
  /** Of `agent_close`: how it stood before, and all that was closed, leaf first. */
  status_before: statusSchema.optional(),
  closed_agents: z.array(agentIdSchema).optional(),
  not_closed: z.array(z.object({ agent_id: agentIdSchema, error: z.custom<ErrorBody>() })).optional(),
});
export type SessionProjection = z.infer<typeof sessionProjectionSchema>;

const nameOfSession = ({ name, agent_id: id }: Whom): string => name ?? id ?? '';

const sessionsTools: readonly OperationTool[] = [
  {
    name: 'agent_open',
    description:
      'Opens a session: a sub-agent that works on a task of its own beside you. Answers at once with its name and agent_id; agent_eval waits for what it hands back. It stays open for more messages until you close it.',
    parameters: agentOpenArguments,
    delegates: true,
    summary: (args) => {
      const { name, type, agent_type: alias, prompt } = args as AgentOpenArguments;
      return [name, type ?? alias, prompt].filter((text) => text !== undefined).join(' ');
    },
  },
  {
    name: 'agent_eval',
    description:
      'Waits until a session has finished and returns how it stands, with its answer and the five sections of that. With a message it is sent that first: one that works sees it before its next model call, one that is idle starts to work on it. A time-out is no error: ask again, or go on with something else.',
    sends: true,
    parameters: agentEvalArguments,
    summary: (args) => {
      const { message, ...session } = args as AgentEvalArguments;
      return [nameOfSession(session), message].filter((text) => text !== undefined).join(' ');
    },
  },
  {
    name: 'agent_close',
    description:
      'Closes a session that you need no more, and all sessions below it; one that still works is stopped.',
    parameters: agentCloseArguments,
    summary: (args) => nameOfSession(args as AgentCloseArguments),
  },
];

/** Sessions that are opened, asked and closed. What they hand back has sections: `result-sections.ts`. */
export const sessionsDialect: DialectTools = {
  operations: sessionsTools,
  readers: [],
  tooDeep: 'Agent depth limit reached. Solve the task yourself.',
  presumed: { max_threads: 10 },
  threadsMax: 20,
  guidance: {
    text: 'With agent_open you can hand out work to a session of its own. It pays for parts that are independent and large enough to be worth explaining; do the rest yourself. A session sees nothing of this conversation unless you fork it: its prompt must carry the goal, the places to look, the limits, and what to hand back. Choose the narrowest type that can do it. Open all that can run side by side in one answer, give those that write separate files to write, and go on with your own part meanwhile. agent_eval returns what a session hands back: SUMMARY, CHANGES, EVIDENCE, RISKS and BLOCKERS; work on from its EVIDENCE, check what its RISKS name, and send it a message where something is missing. A time-out is no failure. Close sessions that you need no more with agent_close.',
  },
};
