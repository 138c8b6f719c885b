import { AsyncLocalStorage } from 'node:async_hooks';
import { context, type Span, type Tracer, trace } from '@opentelemetry/api';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { ActivityWatcher } from '../../activities/index.ts';
import { type AgentReference, type ModelAnswer, refusalCode, type ToolAnswer } from '../../protocol/index.ts';
import {
  attributesOf,
  inTurn,
  settingsAttributes,
  tellFailure,
  toolAttributes,
  usageAttributes,
} from './spans.ts';

/** What spans tell of in the input of a model call or a tool. */
interface AgentCall {
  agent: AgentReference;
  call?: { name: string; call_id: string };
  final?: boolean;
  summary?: boolean;
}

/** A span for each attempt of a model call and of a tool; what else agents have done for them is quick, and their own. */
export class ActivitySpans implements ActivityWatcher {
  readonly #tracer: Tracer;
  readonly #running = new AsyncLocalStorage<{ span: Span; call: AgentCall }>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  agent({ settings }: { settings: { role: string; model: string; provider: string } }): void {
    const running = this.#running.getStore();
    running?.span.setAttributes(settingsAttributes(settings));
    if (running?.call.call === undefined) running?.span.updateName(`chat ${settings.model}`);
  }

  offered(count: number): void {
    const running = this.#running.getStore();
    running?.span.setAttribute('cadre.tools.offered', running.call.final === true ? 0 : count);
  }

  readonly interceptors: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const call = agentCallOf(info.activityType, input.args[0]);
        if (call === undefined) return next(input);
        const span = this.#start(call, info.attempt);
        const active = trace.setSpan(context.active(), span);
        return this.#running.run({ span, call }, () =>
          context.with(active, () => watched(span, next(input), call)),
        );
      },
    },
  });

  #start({ agent, call, summary }: AgentCall, attempt: number): Span {
    const operation = call === undefined ? 'chat' : 'execute_tool';
    const attributes = {
      'gen_ai.operation.name': operation,
      ...attributesOf(agent),
      'cadre.step': agent.step,
      'cadre.attempt': attempt,
      ...(call === undefined ? {} : toolAttributes(call)),
      ...(summary === true ? { 'cadre.summary': true } : {}),
    };
    const name = call === undefined ? operation : `${operation} ${call.name}`;
    const parent = inTurn(agent.session_id, agent.agent_id, agent.turn);
    return this.#tracer.startSpan(name, { attributes }, parent);
  }
}

/** Model calls and tools, which are activities under the names of the tools. */
function agentCallOf(type: string, request: unknown): AgentCall | undefined {
  const { agent, call } = (request ?? {}) as Partial<AgentCall>;
  if (agent === undefined || type === 'plan_call') return undefined;
  return type === 'model' || call !== undefined ? (request as AgentCall) : undefined;
}

async function watched(span: Span, result: Promise<unknown>, { call }: AgentCall): Promise<unknown> {
  try {
    const answer = await result;
    if (call === undefined) tellModelAnswer(span, answer as ModelAnswer);
    else tellToolAnswer(span, answer as ToolAnswer);
    return answer;
  } catch (error) {
    tellFailure(span, typeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

function tellModelAnswer(span: Span, { usage, calls }: ModelAnswer): void {
  span.setAttributes({
    ...usageAttributes(usage),
    'cadre.tools.called': calls.length,
    'cadre.success': true,
  });
}

function tellToolAnswer(span: Span, answer: ToolAnswer): void {
  if (answer.needs_approval !== undefined) span.setAttribute('cadre.needs_approval', true);
  else if (answer.success) span.setAttribute('cadre.success', true);
  else tellFailure(span, refusalCode(answer.output) ?? 'tool_failed');
}

function typeOf(error: unknown): string {
  if (error instanceof CancelledFailure) return 'cancelled';
  if (error instanceof ApplicationFailure) return error.type ?? 'unknown';
  return error instanceof Error ? error.name : 'unknown';
}
