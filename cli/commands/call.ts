import { refusalIn } from '../../client/refusal.ts';
import { CadreError, type ErrorBody } from '../../protocol/index.ts';
import { atAgent } from '../at-workplace.ts';
import { EXIT, type ExitCode, exitCodeOfError } from '../exit-codes.ts';
import { fullError } from '../full-error.ts';
import type { Invocation } from '../invocation.ts';
import { readText } from '../read-text.ts';
import { LAST } from '../references.ts';
import { handOverWork } from '../serving/hand-over.ts';

/** Calls a tool as if the model of an agent had, and prints what the model would have read. */
export default async function call(
  invocation: Invocation,
  [tool, json = '{}']: [string, string | undefined],
  { agent, last }: { agent?: string; last?: boolean },
): Promise<ExitCode> {
  const { output } = invocation;
  const reference = agent ?? (last === true ? LAST : undefined);
  if (reference === undefined) {
    throw new CadreError('usage', '--agent is missing: a tool is called by an agent.', {
      hint: 'Name one with --agent ID, or give --last for the newest session of this folder.',
    });
  }
  const text = json === '-' ? await readText('-', 'The JSON') : json;
  requireObject(text);
  return atAgent(invocation, reference, async (place, id) => {
    await handOverWork(invocation, place, id);
    const answer = await place.withAgent(id, 'act', (at) => at.call(tool, text));
    const error = answer.success ? undefined : refusalOf(tool, answer.output);
    output.result(
      { agent_id: id, tool, ...answer, ...(error === undefined ? {} : { error }) },
      answer.success ? answer.output : '',
    );
    if (error === undefined) return EXIT.done;
    if (output.format === 'text') output.error(error);
    return exitCodeOfError(error.code);
  });
}

/** @throws CadreError `usage` for what no tool could take */
function requireObject(text: string): void {
  let reason = 'it has to be an object such as {"path": "x"}';
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  throw new CadreError('usage', `The JSON of the arguments cannot be used: ${reason}`);
}

function refusalOf(tool: string, output: string): ErrorBody {
  const { hint, ...error } = refusalIn(output) ?? { code: 'tool_failed', message: `${tool}: ${output}` };
  // A model resumes an agent with a tool, a person with a command.
  return fullError(hint === undefined || error.code === 'agent_closed' ? error : { ...error, hint });
}
