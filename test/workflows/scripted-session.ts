import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Context } from '@temporalio/activity';
import { Client, type Connection, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure, type DataConverter } from '@temporalio/common';
import { bundleWorkflowCode, type NativeConnection, Runtime, Worker } from '@temporalio/worker';
import {
  type AgentContext,
  type AgentId,
  type AgentInput,
  agentSettingsSchema,
  EMPTY_DIGEST,
  extendDigest,
  type Item,
  type Limits,
  type ModelAnswer,
  type ModelRequest,
  newRootId,
  noUsage,
  type PlannedCall,
  type RoleAnswer,
  type RoleRequest,
  type SessionSettings,
  sessionSettingsSchema,
  type ToolAnswer,
  type ToolRequest,
  textMessage,
} from '../../protocol/index.ts';
import { preloadModules } from '../../worker/workflow-code.ts';

/** What a scripted model says in one step. */
export interface Say {
  text?: string;
  calls?: { id?: string; name: string; args?: unknown; effects?: 'none' | 'some' }[];
  delayMs?: number;
  fail?: { type: string; message: string };
}

export interface Seen {
  agent: AgentContext;
  items: Item[];
  /** Answers that this agent has given so far. */
  step: number;
  final: boolean;
}
export type Script = (seen: Seen) => Say;

const OPERATIONS = new Set(['spawn_agent', 'send_input', 'wait', 'close_agent']);

let bundle: Promise<{ code: string }> | undefined;

/**
 * A worker with the real workflows, and activities that play a script; each checks that the pointer it gets leads
 * to the very conversation that it has seen grow.
 */
export async function scriptedWorker(options: {
  connection: NativeConnection;
  client: Connection;
  script: Script;
  tools?: Record<string, (request: ToolRequest) => Promise<ToolAnswer> | ToolAnswer>;
  dataConverter?: DataConverter;
  maxCachedWorkflows?: number;
}) {
  bundle ??= bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
    preloadModules: preloadModules(),
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error: console.error },
  });
  const queue = `test-${randomUUID()}`;
  const { dataConverter } = options;
  const client = new Client({ connection: options.client, ...(dataConverter ? { dataConverter } : {}) });
  const conversations = new Map<AgentId, Item[]>();
  const terminated: AgentId[] = [];
  const worker = await Worker.create({
    connection: options.connection,
    taskQueue: queue,
    workflowBundle: await bundle,
    maxHeartbeatThrottleInterval: 200,
    defaultHeartbeatThrottleInterval: 200,
    ...(dataConverter ? { dataConverter } : {}),
    ...(options.maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows: options.maxCachedWorkflows }),
    activities: {
      model: (request: ModelRequest) => playStep(request, conversations, options.script),
      resolve_role: async (request: RoleRequest): Promise<RoleAnswer> => {
        if (request.role === 'nobody') {
          return { ok: false, error: { code: 'unknown_role', message: 'there is no role nobody' } };
        }
        return {
          ok: true,
          settings: { ...request.inherited, role: request.role ?? 'default' },
          description: 'a test role',
        };
      },
      terminate_agents: async ({ agent_id: id, reason }: { agent_id: AgentId; reason: string }) => {
        terminated.push(id);
        await client.workflow.getHandle(id).terminate(reason);
        return { terminated: [id] };
      },
      ...options.tools,
    },
  });
  const running = worker.run();
  return {
    queue,
    client,
    terminated,
    async start(
      task: string,
      settings: { session?: Partial<SessionSettings>; limits?: Partial<Limits> } = {},
    ) {
      const id = newRootId(Date.now(), Math.random);
      const handle = await client.workflow.start('agent', {
        workflowId: id,
        taskQueue: queue,
        args: [inputOf(id, task, settings)],
      });
      return { id, handle: handle as WorkflowHandle };
    },
    async stop() {
      worker.shutdown();
      await running;
    },
  };
}

export type ScriptedWorker = Awaited<ReturnType<typeof scriptedWorker>>;

function inputOf(
  id: AgentId,
  task: string,
  { session, limits }: { session?: Partial<SessionSettings>; limits?: Partial<Limits> },
): AgentInput {
  return {
    identity: {
      agent_id: id,
      session_id: id,
      depth: 0,
      source: { kind: 'api' },
      task,
      search_attributes: [],
    },
    settings: agentSettingsSchema.parse({
      model: 'scripted',
      provider: 'script',
      working_directory: '/tmp',
      limits: limits ?? {},
      model_retry_ms: 2_000,
    }),
    session: sessionSettingsSchema.parse(session ?? {}),
    input: { id: `${id}#start`, content: textMessage(task).content },
  };
}

async function playStep(
  request: ModelRequest,
  conversations: Map<AgentId, Item[]>,
  script: Script,
): Promise<ModelAnswer> {
  const { agent, fresh, pointer, final } = request;
  const prefix = (conversations.get(agent.agent_id) ?? []).slice(0, pointer.count - fresh.length);
  const items = [...prefix, ...fresh];
  const digest = items.reduce(extendDigest, EMPTY_DIGEST);
  if (digest !== pointer.digest) {
    throw ApplicationFailure.nonRetryable(`the pointer of ${agent.agent_id} does not fit`, 'internal');
  }
  const step = items.filter((item) => item.type === 'assistant_message').length;
  const say = script({ agent, items, step, final });
  if (say.delayMs !== undefined) await beating(say.delayMs);
  if (say.fail !== undefined) throw ApplicationFailure.nonRetryable(say.fail.message, say.fail.type);
  const answer = answerOf(say, `${agent.agent_id}-${pointer.count}`);
  conversations.set(agent.agent_id, [...items, ...answer.items]);
  return answer;
}

async function beating(ms: number): Promise<void> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), 200);
  try {
    await context.sleep(ms);
  } finally {
    clearInterval(timer);
  }
}

function answerOf(say: Say, unique: string): ModelAnswer {
  const items: Item[] = [{ type: 'assistant_message', text: say.text ?? '' }];
  const calls: PlannedCall[] = [];
  for (const [index, call] of (say.calls ?? []).entries()) {
    const callId = call.id ?? `${unique}-${index}`;
    items.push({
      type: 'tool_call',
      call_id: callId,
      name: call.name,
      arguments: JSON.stringify(call.args ?? {}),
    });
    const common = { call_id: callId, name: call.name, summary: '' };
    calls.push(
      OPERATIONS.has(call.name)
        ? { kind: 'operation', arguments: withDefaults(call.name, call.args), ...common }
        : { kind: 'activity', effects: call.effects ?? 'none', timeout_ms: 120_000, ...common },
    );
  }
  return { items, calls, usage: { ...noUsage, input_tokens: 10, output_tokens: 5, total_tokens: 15 } };
}

function withDefaults(name: string, args: unknown): unknown {
  if (name === 'wait') return { mode: 'any', ...(args as object) };
  if (name === 'send_input') return { interrupt: false, ...(args as object) };
  return args;
}

/** The output of the newest call of that tool, parsed. */
export function lastOutput(items: Item[], tool: string): unknown {
  const ids = items.flatMap((item) =>
    item.type === 'tool_call' && item.name === tool ? [item.call_id] : [],
  );
  const output = items.findLast((item) => item.type === 'tool_output' && ids.includes(item.call_id));
  return output?.type === 'tool_output' ? JSON.parse(output.output) : undefined;
}

export function quiet(): void {
  Runtime.install({ shutdownSignals: [], telemetryOptions: { logging: { forward: {}, filter: 'ERROR' } } });
}
