import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { play } from '../../activities/model/script/play.ts';
import { parseScript, type ScriptFail } from '../../activities/model/script/script.ts';
import { type Answer, type Answerer, type Fault, startModelServer } from './model-server.ts';

/**
 * Answers over HTTP what the provider `script` would answer to the same conversation. How often a step has failed is
 * remembered here, since a request does not tell.
 */
export function scriptAnswerer(path: string): Answerer {
  const script = parseScript(readFileSync(path, 'utf8'), path);
  const failed = new Map<string, number>();
  return (request): Answer => {
    const line = play(script, path, {
      agent: request.agent,
      items: request.items,
      toolsOffered: request.tools.length > 0,
    });
    const answer: Answer = { delayMs: line.delayMs };
    const step = `${request.agent.id} ${request.items.length}`;
    const times = (failed.get(step) ?? 0) + 1;
    if (line.fail !== undefined && times <= (line.fail.times ?? Number.POSITIVE_INFINITY)) {
      failed.set(step, times);
      answer.fault = faultOf(line.fail);
    }
    if (line.text !== undefined) answer.text = line.text;
    if (line.reasoning !== undefined) answer.reasoning = line.reasoning;
    answer.calls = line.calls.map((call) => ({
      name: call.name,
      arguments: call.arguments,
      id: call.call_id,
    }));
    return answer;
  };
}

function faultOf(fail: ScriptFail): Fault {
  if (fail.fault !== undefined) return { kind: fail.fault };
  const headers: Record<string, string> =
    fail.retry_after === undefined ? {} : { 'retry-after': String(fail.retry_after) };
  const message = fail.message === undefined ? {} : { message: fail.message };
  return { kind: 'status', status: fail.status ?? 500, headers, ...message };
}

/** `--script FILE [--port N] [--wire responses|chat] [--model NAME]`: serves until it is ended, prints its URL. */
async function serveScript(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      script: { type: 'string' },
      port: { type: 'string', default: '0' },
      wire: { type: 'string' },
      model: { type: 'string', default: 'test-model' },
    },
  });
  if (values.script === undefined) throw new Error('--script FILE is missing');
  const wires = (['responses', 'chat'] as const).filter(
    (wire) => values.wire === undefined || values.wire === wire,
  );
  const server = await startModelServer(scriptAnswerer(values.script), {
    port: Number(values.port),
    models: [values.model],
    wires,
  });
  process.stdout.write(`${server.url}\n`);
}

const entry = process.argv[1];
if (entry !== undefined && import.meta.url === pathToFileURL(entry).href) {
  await serveScript(process.argv.slice(2)).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 2;
  });
}
