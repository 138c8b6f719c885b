import { z } from 'zod';
import { type AgentId, STATUSES } from '../../../protocol/index.ts';
import { atAgent } from '../../at-workplace.ts';
import close from '../../commands/close.ts';
import interrupt from '../../commands/interrupt.ts';
import ps from '../../commands/ps.ts';
import { sendText } from '../../commands/send.ts';
import status from '../../commands/status.ts';
import { EXIT } from '../../exit-codes.ts';
import { checkedText } from '../../read-text.ts';
import { type Call, defineMcpTool } from '../define-mcp-tool.ts';
import { notices, reference, status as statusWord, usage } from '../schemas.ts';

/** Input is acted upon: this process works for a local session that nobody else works for. */
export function takeUp({ invocation, sessions }: Call, agent: string): Promise<void> {
  return atAgent(invocation, agent, (place, id) => sessions.takeUp(place, id));
}

const agent = {
  agent_id: z.string(),
  session_id: z.string(),
  parent_id: z.string().optional(),
  status: statusWord,
  closed: z.boolean().describe('Takes no input until it is resumed'),
  depth: z.number(),
  role: z.string(),
  model: z.string(),
  task: z.string().optional(),
  note: z.string().optional(),
};

export const statusTool = defineMcpTool({
  name: 'cadre_status',
  title: 'Look at an agent',
  description: 'Shows one agent: its status and last message, what it waits for, its tokens, its children.',
  input: z.strictObject({ id: reference }),
  output: z.looseObject({
    ...agent,
    message: z.string().optional().describe('Its last message, or the reason of its status'),
    is_final: z.boolean().describe('Nothing more happens until it gets input'),
    waiting_for: z.string().optional().describe('model, tool, agents, approval or slot'),
    current_tool: z.string().optional(),
    turn: z.number().optional(),
    step: z.number().optional(),
    sandbox_mode: z.string().optional(),
    working_directory: z.string().optional(),
    usage: usage.optional(),
    children: z.array(z.string()).optional(),
    notices,
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  async run({ id }, { invocation, output }) {
    await status(invocation, [id]);
    return { fields: output.answer };
  },
});

export const listTool = defineMcpTool({
  name: 'cadre_list',
  title: 'List agents',
  description:
    'Lists agents and sessions (a session is a root agent, of depth 0, with all agents below it), newest first; without closed ones unless asked.',
  input: z.strictObject({
    all: z.boolean().default(false).describe('Closed ones, too'),
    session_id: z.string().min(1).optional().describe('Only those of one session'),
    status: z.enum(STATUSES).optional(),
    role: z.string().min(1).optional(),
    limit: z.int().positive().max(1_000).default(100).describe('At most so many'),
  }),
  output: z.looseObject({
    agents: z.array(
      z.looseObject({
        ...agent,
        source: z.looseObject({ kind: z.string() }).optional(),
        started_at: z.string(),
        ended_at: z.string().optional(),
        queue: z.string(),
      }),
    ),
    notices,
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  async run({ session_id: session, ...filter }, { invocation, output }) {
    await ps(invocation, [], session === undefined ? filter : { ...filter, session: session as AgentId });
    return { fields: output.answer };
  },
});

export const sendTool = defineMcpTool({
  name: 'cadre_send',
  title: 'Send input to an agent',
  description:
    'Sends input to an agent: a running one sees it before its next model call, an idle one begins a turn. Returns at once; cadre_wait waits for the answer.',
  input: z.strictObject({
    id: reference,
    message: z.string(),
    interrupt: z.boolean().default(false).describe('Stop what it does now, then start over with this input'),
  }),
  output: z.looseObject({ submission_id: z.string(), notices }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  async run({ id, message, interrupt }, call) {
    const text = checkedText(message, 'The message');
    await takeUp(call, id);
    await sendText(call.invocation, id, async () => text, { interrupt });
    return { fields: call.output.answer };
  },
});

export const interruptTool = defineMcpTool({
  name: 'cadre_interrupt',
  title: 'Stop the turn of an agent',
  description:
    'Stops the turn of an agent and of those below it: model calls and commands are ended. It keeps its conversation and takes input again.',
  input: z.strictObject({
    id: reference,
    reason: z.string().min(1).optional().describe('Why, for its conversation'),
  }),
  output: z.looseObject({ agent_id: z.string(), status: statusWord, message: z.string(), notices }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  async run({ id, reason }, { invocation, output }) {
    await interrupt(invocation, [id], reason === undefined ? {} : { reason });
    return { fields: output.answer };
  },
});

export const closeTool = defineMcpTool({
  name: 'cadre_close',
  title: 'Close an agent',
  description:
    'Closes an agent and all below it, leaf first, and tells how it stood before. A closed one stays closed.',
  input: z.strictObject({ id: reference }),
  output: z.looseObject({
    agent_id: z.string(),
    status: statusWord.describe('Before it was closed'),
    message: z.string().optional(),
    closed: z.array(z.string()).describe('What this call has closed'),
    not_closed: z.array(z.looseObject({ agent_id: z.string() })).optional(),
    notices,
  }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  async run({ id }, { invocation, output }) {
    const exitCode = await close(invocation, [id]);
    const fields = output.answer;
    if (exitCode === EXIT.done) return { fields };
    return { fields, error: { code: 'internal', message: output.notices.join(' ') } };
  },
});
