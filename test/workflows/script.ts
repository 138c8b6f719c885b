import type { ErrorBody, Item, ToolAnswer, ToolEffects } from '../../protocol/index.ts';

/** What a scripted model says in one step. */
export interface Say {
  text?: string;
  /** A summary of what it thought. */
  reasoning?: string;
  calls?: Call[];
  /** What it takes; default: 15. */
  tokens?: number;
  /** With this its window is nearly full. */
  full?: boolean;
  fail?: { code: string; message: string; retryable?: boolean };
}

export interface Call {
  name: string;
  args?: unknown;
  /** Default: some for `act` and `mute`, none for others. */
  effects?: ToolEffects;
  /** The call is not let through. */
  refused?: ErrorBody;
  id?: string;
}

/** What the model is asked with. */
export interface Seen {
  /** `root`, or the part of the id after that of the root. */
  agent: string;
  turn: number;
  /** Answers that this agent has given so far, over all turns. */
  step: number;
  /** No tools are on offer. */
  final: boolean;
  /** It is to summarise. */
  summary: boolean;
  items: Item[];
}

export type Script = (seen: Seen) => Say | Promise<Say>;
export type Line = Say | Script;

/** A script told as what each agent says, step by step; `*` speaks for those that are not named. */
export function lines(cast: Record<string, Line[]>): Script {
  return (seen) => {
    const line = (cast[seen.agent] ?? cast['*'])?.[seen.step];
    if (line === undefined) {
      return { fail: { code: 'script_failed', message: `${seen.agent} has no line ${seen.step}` } };
    }
    return typeof line === 'function' ? line(seen) : line;
  };
}

/** What a scripted tool does; a plain text stands for a successful answer. */
export type ScriptedTool = (call: {
  agent: string;
  args: Record<string, unknown>;
  /** A person has allowed it. */
  approved: boolean;
  /** Fires when the activity is cancelled. */
  signal: AbortSignal;
}) => string | ToolAnswer | Promise<string | ToolAnswer>;

export const say = (text: string): Say => ({ text });
export const call = (name: string, args: unknown = {}): Say => ({ calls: [{ name, args }] });
export const spawn = (...messages: string[]): Say => ({
  calls: messages.map((message) => ({ name: 'spawn_agent', args: { message } })),
});
export const wait = (ids: string[], args: object = {}): Say => call('wait', { ids, ...args });

export const spawnAs = (agent_type: string): Say => call('spawn_agent', { message: 'x', agent_type });
/** Waits for all agents that this one has spawned. */
export const waitForAll = ({ items }: Seen): Say => wait(spawned(items), { mode: 'all' });
/** A tool that works until it is stopped. */
export const untilStopped =
  (stopped: () => void): ScriptedTool =>
  ({ signal }) => {
    signal.addEventListener('abort', stopped);
    return never();
  };
/** A line that is never said to its end. */
export const never = (): Promise<never> => new Promise(() => {});

/** The ids of the agents that were spawned, in order. */
export function spawned(items: readonly Item[]): string[] {
  return outputs(items, 'spawn_agent').flatMap(({ agent_id }) => agent_id ?? []);
}

/** The output of the newest call of that tool, parsed. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into outputs of all tools
export function lastOutput(items: readonly Item[], tool: string): any {
  return outputs(items, tool).at(-1);
}

/** The outputs of all calls of that tool, parsed where they are JSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into outputs of all tools
export function outputs(items: readonly Item[], tool: string): any[] {
  const calls = items.flatMap((item) =>
    item.type === 'tool_call' && item.name === tool ? [item.call_id] : [],
  );
  return items.flatMap((item) =>
    item.type === 'tool_output' && calls.includes(item.call_id) ? [parsed(item.output)] : [],
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The texts of user messages and notices, in order. */
export function heard(items: readonly Item[]): string[] {
  return items.flatMap((item) => {
    if (item.type === 'notice') return [`notice: ${item.text}`];
    if (item.type !== 'user_message') return [];
    return item.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  });
}
