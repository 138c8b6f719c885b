import {
  type AgentSettings,
  acceptedEfforts,
  CadreError,
  REASONING_EFFORTS,
  type ReasoningEffort,
  type SessionSettings,
} from '../../protocol/index.ts';

/**
 * The first effort that is named, else the inherited one. A model that was chosen anew is held to its efforts also
 * where the effort is inherited.
 *
 * @throws CadreError `invalid_arguments` with the efforts that the model takes
 */
export function chooseEffort(
  inherited: AgentSettings,
  named: readonly (string | undefined)[],
  model: string,
  session: SessionSettings,
): ReasoningEffort | undefined {
  const wanted = named.find((name) => name !== undefined);
  const accepted = acceptedEfforts(inherited.provider, session.model_providers[inherited.provider], model);
  const effort = wanted === undefined ? inherited.reasoning_effort : known(wanted, accepted);
  if (effort === undefined || accepted === undefined || accepted.includes(effort)) return effort;
  if (wanted === undefined && model === inherited.model) return effort;
  throw refused(
    `The model ${JSON.stringify(model)} does not support the reasoning_effort "${effort}"`,
    accepted,
  );
}

function known(name: string, accepted: readonly ReasoningEffort[] = REASONING_EFFORTS): ReasoningEffort {
  const effort = REASONING_EFFORTS.find((effort) => effort === name);
  if (effort !== undefined) return effort;
  throw refused(`There is no reasoning_effort ${JSON.stringify(name)}`, accepted);
}

function refused(problem: string, accepted: readonly ReasoningEffort[]): CadreError {
  return new CadreError('invalid_arguments', `${problem}.`, { hint: `Accepted: ${accepted.join(', ')}.` });
}
