import { setTimeout as sleep } from 'node:timers/promises';
import { counted, type Item, noUsage, type Usage } from '../../../protocol/index.ts';
import { readOrdinaryFile, UnfitFile } from '../../ordinary-file.ts';
import { ModelError } from '../model-error.ts';
import type { CallOptions, ModelCall, ModelProvider, ModelReply } from '../providers/provider.ts';
import { type Line, play } from './play.ts';
import { parseScript, type Script, type ScriptFail } from './script.ts';
import { scriptError } from './script-error.ts';

/** Longer than any call may take. */
const FOR_EVER_MS = 2 ** 31 - 1;
/** Some are written by programs. */
const SCRIPT_BYTES_MAX = 16 * 1024 * 1024;

/** A model played by a script file: see docs/scripts.md. Keeps nothing between calls but the parsed file. */
export class ScriptProvider implements ModelProvider {
  readonly #path: string;
  #parsed: { text: string; script: Script } | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async complete(call: ModelCall, { signal, onDelta }: CallOptions): Promise<ModelReply> {
    const script = this.#read();
    if (call.summary) return { items: [scriptedSummary(call)], usage: noUsage };
    const line = play(script, this.#path, {
      agent: call.agent,
      items: call.items,
      toolsOffered: call.tools.length > 0,
    });
    await sleep(line.delayMs, undefined, { signal });
    if (line.fail !== undefined && call.attempt <= (line.fail.times ?? Number.POSITIVE_INFINITY)) {
      if (line.fail.fault === 'empty') return { items: [], usage: noUsage };
      if (line.fail.fault === 'hang') await sleep(FOR_EVER_MS, undefined, { signal });
      throw failure(line.fail, this.#path);
    }
    if (line.text !== undefined) onDelta(line.text);
    return { items: itemsOf(line), usage: usageOf(line) };
  }

  #read(): Script {
    const text = textOf(this.#path);
    if (this.#parsed?.text !== text) this.#parsed = { text, script: parseScript(text, this.#path) };
    return this.#parsed.script;
  }
}

function textOf(path: string): string {
  try {
    return readOrdinaryFile(path, SCRIPT_BYTES_MAX).bytes.toString();
  } catch (error) {
    if (!(error instanceof UnfitFile)) throw error;
    throw scriptError(path, '', error.code === 'ENOENT' ? 'there is no such file' : `it ${error.message}`);
  }
}

/** A script knows where it is without one. */
function scriptedSummary({ items }: ModelCall): Item {
  return {
    type: 'assistant_message',
    text: `A script plays on behind ${counted(items.length - 1, 'item')}.`,
  };
}

function itemsOf(line: Line): Item[] {
  const items: Item[] = [];
  if (line.reasoning !== undefined) items.push({ type: 'reasoning', summary: line.reasoning });
  if (line.text) items.push({ type: 'assistant_message', text: line.text });
  items.push(...line.calls);
  return items;
}

/** A script uses no tokens, unless it says that it does. */
function usageOf({ usage }: Line): Usage {
  return usage === undefined ? noUsage : { ...usage, total_tokens: usage.input_tokens + usage.output_tokens };
}

/** The error that a real provider would have led to. */
function failure(fail: ScriptFail, path: string): ModelError {
  const what =
    fail.message ?? (fail.status === undefined ? `scripted fault: ${fail.fault}` : `status ${fail.status}`);
  const message = `${path} answered ${what}`;
  const retryAfterMs =
    fail.retry_after === undefined ? undefined : Math.ceil(fail.retry_after * 1000) || undefined;
  if (fail.fault === 'invalid_json')
    return new ModelError('model_answer_unreadable', message, { retryable: true });
  const { status } = fail;
  const passes = status === undefined || status >= 500 || [408, 409, 429].includes(status);
  return passes
    ? new ModelError('model_unreachable', message, { retryable: true, retryAfterMs })
    : new ModelError('model_refused', message);
}
