import { parseDocument } from 'yaml';
import { z } from 'zod';
import { scriptError } from './script-error.ts';

const NAME = /^[A-Za-z_]\w{0,39}$/;

const callSchema = z.strictObject({
  tool: z.string().min(1),
  /** What templates find its output by; default: the tool's name. */
  id: z.string().regex(NAME, 'a name has letters, digits and underscores, 40 at most').optional(),
  /** A mapping whose texts are templates; a bare text is sent as it is, valid JSON or not. */
  arguments: z.union([z.record(z.string(), z.unknown()), z.string()]).default({}),
});

const failSchema = z
  .strictObject({
    status: z.int().min(400).max(599).optional().describe('Answer with this HTTP status'),
    retry_after: z.number().nonnegative().optional().describe('Seconds'),
    fault: z.enum(['drop', 'invalid_json', 'hang', 'empty']).optional(),
    times: z.int().positive().optional().describe('Only the first tries; default: every one'),
    message: z.string().optional(),
  })
  .refine(
    (fail) => (fail.status === undefined) !== (fail.fault === undefined),
    'give either status or fault',
  );

const stepSchema = z
  .strictObject({
    text: z.string().optional(),
    reasoning: z.string().optional(),
    calls: z.array(callSchema).default([]),
    delay_ms: z.number().nonnegative().max(3_600_000).default(0),
    fail: failSchema.optional(),
    usage: z
      .strictObject({
        input_tokens: z.int().nonnegative().default(0),
        cached_input_tokens: z.int().nonnegative().default(0),
        output_tokens: z.int().nonnegative().default(0),
        reasoning_tokens: z.int().nonnegative().default(0),
      })
      .optional(),
    repeat: z.int().positive().max(100_000).default(1).describe('How often the step is played, in a row'),
  })
  .refine((step) => step.text !== undefined || step.calls.length > 0 || step.fail?.fault === 'empty', {
    error: 'a step needs text or calls',
  })
  .refine((step) => new Set(step.calls.map(callName)).size === step.calls.length, {
    error: 'two calls of a step have the same name: give them different ids',
  });

const stepsSchema = z.array(stepSchema);

const agentSchema = z
  .strictObject({
    role: z.string().optional(),
    task: z
      .string()
      .refine(isPattern, 'not a regular expression')
      .optional()
      .describe('Found in the first user message, upper and lower case alike'),
    steps: stepsSchema.optional().describe('One after the other, however many inputs come meanwhile'),
    turns: z.array(stepsSchema).optional().describe('Steps for each user message'),
    otherwise: stepSchema.optional().describe('Played when no step is left'),
    hand_back: z.string().optional().describe('Said when tools are wanted and none are on offer'),
  })
  .refine((agent) => agent.steps === undefined || agent.turns === undefined, 'give either steps or turns')
  .refine(
    ({ steps, turns, otherwise }) =>
      otherwise !== undefined || [...(steps ?? []), ...(turns ?? []).flat()].length > 0,
    'an agent needs steps, turns or otherwise',
  );

const scriptSchema = z.strictObject({ agents: z.array(agentSchema).min(1) });

export type ScriptCall = z.infer<typeof callSchema>;
export type ScriptFail = z.infer<typeof failSchema>;
export type ScriptStep = z.infer<typeof stepSchema>;
export type ScriptAgent = z.infer<typeof agentSchema>;
export type Script = z.infer<typeof scriptSchema>;

/** What templates find the output of a call by. */
export function callName(call: ScriptCall): string {
  return call.id ?? call.tool;
}

/**
 * Reads a script from its YAML (JSON is YAML, too).
 *
 * @param path for messages
 * @throws ModelError `script_failed` that names the place and the reason
 */
export function parseScript(text: string, path: string): Script {
  const document = parseDocument(text, { prettyErrors: true });
  const [broken] = document.errors;
  if (broken !== undefined) {
    const line = broken.linePos?.[0].line;
    throw scriptError(
      path,
      line === undefined ? '' : `line ${line}`,
      broken.message.split('\n')[0] ?? 'broken YAML',
    );
  }
  const result = scriptSchema.safeParse(document.toJS());
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw scriptError(path, (issue?.path ?? []).join('.'), issue?.message ?? 'not a script');
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'i');
    return true;
  } catch {
    return false;
  }
}
