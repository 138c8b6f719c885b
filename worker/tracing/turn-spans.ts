import { ROOT_CONTEXT, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import type { TurnRecord } from '../../workflows/trace-sink.ts';
import { idsCanBeChosen, traceIdOf, turnSpanId, withIds } from './span-ids.ts';
import { attributesOf, inTurn, settingsAttributes, usageAttributes } from './spans.ts';

/** Writes the span of a turn: below that of the turn of the parent which has spawned the agent. */
export function writeTurnSpan(tracer: Tracer, turn: TurnRecord): void {
  const { agent_id, session_id, parent_id, parent_turn } = turn;
  const ids = { traceId: traceIdOf(session_id), spanId: turnSpanId(agent_id, turn.turn) };
  const span = withIds(ids, () =>
    tracer.startSpan(
      `invoke_agent ${turn.role}`,
      {
        startTime: turn.started,
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          ...attributesOf(turn),
          ...settingsAttributes(turn),
          ...(turn.usage === undefined ? {} : usageAttributes(turn.usage)),
          'cadre.steps': turn.steps,
          'cadre.status': turn.status,
          'cadre.success': turn.status === 'completed',
          ...(turn.code === undefined ? {} : { 'error.type': turn.code }),
        },
      },
      parentContext(),
    ),
  );
  if (turn.status === 'errored') span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(turn.ended);

  function parentContext() {
    if (parent_id !== undefined && parent_turn !== undefined) {
      return inTurn(session_id, parent_id, parent_turn);
    }
    // Without ids of ours only a parent, if one that nobody writes, puts it into the trace of the session.
    return idsCanBeChosen() ? ROOT_CONTEXT : inTurn(session_id, session_id, 0);
  }
}
