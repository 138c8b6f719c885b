import { type Context, ROOT_CONTEXT, type Span, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import type { AgentId, SessionId } from '../../protocol/index.ts';
import { traceIdOf, turnSpanId } from './span-ids.ts';

/** An agent, as far as a span tells of it. */
export interface SpanAgent {
  agent_id: AgentId;
  session_id: SessionId;
  depth: number;
  turn: number;
}

/** Below the span of a turn, which whoever ends the turn will write. */
export function inTurn(session: SessionId, agent: AgentId, turn: number): Context {
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: traceIdOf(session),
    spanId: turnSpanId(agent, turn),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  });
}

/** After OpenTelemetry's conventions for generative AI, and under `cadre.` what these have no name for. */
export function attributesOf({ agent_id, session_id, depth, turn }: SpanAgent) {
  return {
    'gen_ai.conversation.id': session_id,
    'gen_ai.agent.id': agent_id,
    'cadre.depth': depth,
    'cadre.turn': turn,
  };
}

/** Of the settings of an agent, which come along with the first of its calls only. */
export function settingsAttributes(settings: { role: string; model: string; provider: string }) {
  return {
    'gen_ai.agent.name': settings.role,
    'gen_ai.request.model': settings.model,
    'gen_ai.provider.name': settings.provider,
  };
}

export function toolAttributes({ name, call_id }: { name: string; call_id: string }) {
  return { 'gen_ai.tool.name': name, 'gen_ai.tool.call.id': call_id };
}

/** A code alone: messages repeat what agents and models have written. */
export function tellFailure(span: Span, type: string): void {
  span.setAttributes({ 'cadre.success': false, 'error.type': type });
  span.setStatus({ code: SpanStatusCode.ERROR });
}

export function usageAttributes(usage: {
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
}) {
  return {
    'gen_ai.usage.input_tokens': usage.input_tokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cached_input_tokens,
    'gen_ai.usage.output_tokens': usage.output_tokens,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoning_tokens,
  };
}
