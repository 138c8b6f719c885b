import { behindSummary, countAnswers, type Item, plainText, type ToolCall } from '../../../protocol/index.ts';
import { outputsByName, scriptedCallId } from './outputs.ts';
import { callName, type Script, type ScriptAgent, type ScriptFail, type ScriptStep } from './script.ts';
import { scriptError } from './script-error.ts';
import { fill, fillText } from './template.ts';
import { Lines } from './template-text.ts';

/** All that a script may know when it is to answer. */
export interface Scene {
  agent: { id: string; role: string };
  items: readonly Item[];
  toolsOffered: boolean;
}

/** What the script answers. */
export interface Line {
  text: string | undefined;
  reasoning: string | undefined;
  calls: ToolCall[];
  delayMs: number;
  fail: ScriptFail | undefined;
  usage: ScriptStep['usage'];
}

const STOPPED = 'The steps of this turn are used up before the script was at its end.';

/**
 * What a script answers to a conversation. It depends on nothing else: the same conversation gets the same answer in
 * any process, however often it is asked.
 *
 * @throws ModelError `script_failed`
 */
export function play(script: Script, path: string, scene: Scene): Line {
  const { items } = scene;
  const inputs = items.filter((item) => item.type === 'user_message');
  const task = plainText(inputs[0]?.content ?? []);
  const [agent, at] = findAgent(script, path, scene.agent.role, task);
  const progress = progressOf(items);
  const { answered } = progress;
  const { step, place } = findStep(agent, `agents.${at}`, path, progress);
  const scope = {
    task,
    input: plainText(inputs.at(-1)?.content ?? []),
    agent: scene.agent,
    step: answered + 1,
    outputs: outputsByName(items),
    notices: Lines.from(items.flatMap((item) => (item.type === 'notice' ? [item.text] : []))),
  };
  try {
    return lineOf(step, agent, scope, scene.toolsOffered);
  } catch (error) {
    throw scriptError(path, place, error instanceof Error ? error.message : String(error));
  }
}

function lineOf(step: ScriptStep, agent: ScriptAgent, scope: { step: number }, toolsOffered: boolean): Line {
  const { delay_ms: delayMs, fail, usage } = step;
  const reasoning = step.reasoning === undefined ? undefined : fillText(step.reasoning, scope);
  if (step.calls.length > 0 && !toolsOffered) {
    const text = fillText(agent.hand_back ?? step.text ?? STOPPED, scope);
    return { text, reasoning, calls: [], delayMs, fail, usage };
  }
  const calls = step.calls.map(
    (call): ToolCall => ({
      type: 'tool_call',
      call_id: scriptedCallId(callName(call), scope.step),
      name: call.tool,
      arguments:
        typeof call.arguments === 'string' ? call.arguments : JSON.stringify(fill(call.arguments, scope)),
    }),
  );
  const text = step.text === undefined ? undefined : fillText(step.text, scope);
  return { text, reasoning, calls, delayMs, fail, usage };
}

function findAgent(script: Script, path: string, role: string, task: string): [ScriptAgent, number] {
  const at = script.agents.findIndex(
    (agent) =>
      (agent.role === undefined || agent.role === role) &&
      (agent.task === undefined || new RegExp(agent.task, 'i').test(task)),
  );
  const agent = script.agents[at];
  if (agent !== undefined) return [agent, at];
  throw scriptError(path, 'agents', `none is for role ${role} with the task: ${task.slice(0, 200)}`);
}

/** How far a conversation has come, with what a summary stands for. */
interface Progress {
  /** Counts from 0. */
  turn: number;
  answered: number;
  answeredInTurn: number;
}

function progressOf(items: readonly Item[]): Progress {
  const { index, replaced } = behindSummary(items);
  const shown = items.slice(index);
  const inputs = replaced.user_messages + shown.filter((item) => item.type === 'user_message').length;
  const lastInput = shown.findLastIndex((item) => item.type === 'user_message');
  const answeredInTurn = countAnswers(shown.slice(lastInput + 1));
  return {
    turn: Math.max(inputs, 1) - 1,
    answered: replaced.answers + countAnswers(shown),
    answeredInTurn: lastInput < 0 ? replaced.answers_since + answeredInTurn : answeredInTurn,
  };
}

function findStep(
  agent: ScriptAgent,
  place: string,
  path: string,
  { turn, answered, answeredInTurn }: Progress,
): { step: ScriptStep; place: string } {
  const steps = agent.steps ?? agent.turns?.[turn] ?? [];
  const list = agent.steps === undefined ? `${place}.turns.${turn}` : `${place}.steps`;
  const played = agent.steps === undefined ? answeredInTurn : answered;

  let ends = 0;
  for (const [index, step] of steps.entries()) {
    ends += step.repeat;
    if (played < ends) return { step, place: `${list}.${index}` };
  }
  if (agent.otherwise !== undefined) return { step: agent.otherwise, place: `${place}.otherwise` };
  throw scriptError(
    path,
    list,
    `there is no step left for answer ${played + 1} (it has ${ends}); add one, or "otherwise" to the agent`,
  );
}
