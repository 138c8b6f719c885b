import type { Tracer } from '@opentelemetry/api';
import type { OperationRecord } from '../../workflows/trace-sink.ts';
import { operationSpanId, traceIdOf, withIds } from './span-ids.ts';
import { attributesOf, inTurn, settingsAttributes, tellFailure, toolAttributes } from './spans.ts';

/** Writes the span of a tool call that the workflow has carried out itself: an operation on the tree of agents. */
export function writeOperationSpan(tracer: Tracer, operation: OperationRecord): void {
  const { agent_id, session_id, turn, step, call_id, name, success, code } = operation;
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    ...attributesOf(operation),
    ...settingsAttributes(operation),
    ...toolAttributes(operation),
    'cadre.step': step,
  };
  const ids = { traceId: traceIdOf(session_id), spanId: operationSpanId(agent_id, turn, step, call_id) };
  const span = withIds(ids, () =>
    tracer.startSpan(
      `execute_tool ${name}`,
      { startTime: operation.started, attributes },
      inTurn(session_id, agent_id, turn),
    ),
  );
  if (success) span.setAttribute('cadre.success', true);
  else tellFailure(span, code ?? 'tool_failed');
  span.end(operation.ended);
}
