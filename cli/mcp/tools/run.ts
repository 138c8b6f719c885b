import { z } from 'zod';
import { checkedSchema } from '../../../client/output-schema.ts';
import { APPROVAL_POLICIES, SANDBOX_MODES, toolTogglesSchema } from '../../../protocol/index.ts';
import { attachedImage } from '../../attached-image.ts';
import type { Flag } from '../../config/load.ts';
import { checkedText } from '../../read-text.ts';
import { type Call, defineMcpTool } from '../define-mcp-tool.ts';
import { followRun } from '../follow-run.ts';
import type { OwnSession } from '../own-sessions.ts';
import { answered, followState } from '../questions.ts';
import { approval, errorBody, notices, onApproval, seconds, status, usage } from '../schemas.ts';

const toggles = Object.keys(toolTogglesSchema.shape).map((name) => [name, z.boolean().optional()] as const);

const input = z.strictObject({
  task: z.string().describe('What the agent is to do, with all that it needs to know'),
  agent: z.string().min(1).optional().describe('Role of the agent (default: default)'),
  model: z.string().min(1).optional().describe('Model (default: as configured)'),
  cwd: z
    .string()
    .min(1)
    .optional()
    .describe('Working directory (default: the folder in which the server runs)'),
  sandbox_mode: z.enum(SANDBOX_MODES).optional().describe('What its commands may touch'),
  approval_policy: z.enum(APPROVAL_POLICIES).optional().describe('What has to be approved first'),
  tools: z
    .strictObject(Object.fromEntries(toggles))
    .optional()
    .describe('Groups of tools, on or off for the whole session; subagent_tools: may it start agents'),
  images: z.array(z.string().min(1)).max(100).optional().describe('Image files to look at'),
  output_schema: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('JSON schema that the answer has to follow'),
  max_steps: z.int().positive().optional().describe('Most model calls in a turn'),
  max_tokens: z.int().positive().optional().describe('Most tokens of the whole session'),
  wait_agents: z
    .boolean()
    .default(true)
    .describe('False: end with the first answer, closing the agents that still run'),
  detach: z.boolean().default(false).describe('Return as soon as it has started'),
  timeout_seconds: seconds
    .optional()
    .describe('Return after this time; the session goes on, and cadre_wait waits for it again'),
  on_approval: onApproval,
});
export type RunArguments = z.output<typeof input>;

const output = z.looseObject({
  session_id: z.string().describe('Also the id of its root agent'),
  status,
  output: z.string().optional().describe('The answer; absent while it runs'),
  usage: usage.optional().describe('Tokens of the whole session, once it has ended'),
  duration_ms: z.number(),
  agents: z
    .array(
      z.looseObject({
        agent_id: z.string(),
        parent_id: z.string().optional(),
        role: z.string(),
        status,
        total_tokens: z.number(),
      }),
    )
    .optional()
    .describe('The root first'),
  approvals: z.array(approval).optional().describe('What waits for an approval'),
  next: z.string().optional().describe('What to do next, where it has not ended'),
  web: z.string().optional().describe('Where it is seen in the Temporal Web UI'),
  error: errorBody.optional().describe('Why it did not end well'),
  notices,
});

export const runTool = defineMcpTool({
  name: 'cadre_run',
  title: 'Run a task with an agent',
  description: `Starts an agent of Cadre on a task, follows it and the agents that it starts, and returns its answer.
The session is durable: cancelling this call or leaving it by timeout_seconds does not stop it (cadre_interrupt and cadre_close do); cadre_wait waits for it again. Where status is "running", it has not ended yet, and "next" says what to do.`,
  input,
  output,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  async run(args, call) {
    const state = followState(call);
    if (state !== undefined) {
      const session = await call.sessions.find(state.session);
      return followRun(args, call, session, await answered(call, session, state));
    }
    const startedAt = Date.now();
    const session = await start(args, call);
    call.progress.tell(
      `session ${session.id} started${session.web === undefined ? '' : ` (${session.web})`}`,
    );
    if (args.detach) {
      const { id: session_id, web } = session;
      const next = `cadre_wait with ids ["${session_id}"] waits for it.`;
      const fields = { session_id, status: 'running', duration_ms: Date.now() - startedAt, next };
      return { fields: { ...fields, ...(web === undefined ? {} : { web }) } };
    }
    const timeout = args.timeout_seconds === undefined ? call.timeout : args.timeout_seconds * 1_000;
    const until = timeout === undefined ? undefined : startedAt + timeout;
    return followRun(args, call, session, { startedAt, until, dismissed: [], fresh: true });
  },
});

async function start(args: RunArguments, { sessions, invocation }: Call): Promise<OwnSession> {
  const task = checkedText(args.task, 'The task');
  const images = await Promise.all((args.images ?? []).map((path) => attachedImage(path, 'images')));
  const { agent, cwd, output_schema: schema, wait_agents: waitAgents } = args;
  const outputSchema =
    schema === undefined ? undefined : await checkedSchema(schema, 'output_schema', 'usage');
  return sessions.start(invocation, {
    task: async () => task,
    images,
    agent,
    cwd,
    outputSchema,
    waitAgents,
    flags: flagsOf(args),
    source: { kind: 'mcp' },
    nonInteractive: false,
  });
}

/** Arguments count as options of the command line do. */
function flagsOf({ tools = {}, ...args }: RunArguments): Flag[] {
  const flag = (path: string[], value: unknown, name: string): Flag => ({
    path,
    value,
    where: `${name} of cadre_run`,
  });
  return [
    flag(['model'], args.model, 'model'),
    flag(['sandbox_mode'], args.sandbox_mode, 'sandbox_mode'),
    flag(['approval_policy'], args.approval_policy, 'approval_policy'),
    flag(['agents', 'max_steps'], args.max_steps, 'max_steps'),
    flag(['agents', 'max_tokens'], args.max_tokens, 'max_tokens'),
    ...Object.entries(tools).map(([name, value]) => flag(['tools', name], value, `tools.${name}`)),
  ];
}
