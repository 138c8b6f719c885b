import type { z } from 'zod';
import type { AgentContext, PlanStep, ToolEffects } from '../../protocol/index.ts';
import type { CommandSessions } from '../commands/command-sessions.ts';
import type { ReadTranscript } from '../handles/transcripts.ts';

/** What a tool may use while it runs one call. */
export interface ToolContext {
  agent: AgentContext;
  callId: string;
  /** The environment for commands: filtered, without keys. */
  environment: Readonly<Record<string, string>>;
  /** Aborts when the turn is interrupted or the worker shuts down; a tool has to end within a second then. */
  signal: AbortSignal;
  /** A person has allowed this very call: what throws `ApprovalNeeded` otherwise may be done. */
  approved: boolean;
  /** Nobody can be asked for an approval. */
  nonInteractive: boolean;
  /** Folder for stored outputs (CADRE_HOME). */
  stateDir: string;
  /** The conversation of an agent; a tool has to see to it that it is one of the same session. */
  readTranscript: ReadTranscript;
  /** The commands of this worker that go on between calls. */
  commands: CommandSessions;
  /** An absolute path, from one that may be relative to the agent's working directory. */
  resolve(path: string): string;
}

/**
 * What a tool answers; a bare string is a success. Long outputs are cut and stored by the caller, unless the tool has
 * done so itself, because the whole would not fit into memory.
 */
export interface ToolResult {
  output: string;
  success: boolean;
  /** Names the stored whole of an output that the tool has cut itself. */
  handle?: string;
  plan?: { plan: PlanStep[]; explanation?: string };
  /** The command that this started or looked at, and whether it goes on. */
  command_session?: { id: number; open: boolean };
}

export interface ToolSpec<P extends z.ZodType> {
  /** As the model calls it; snake_case. Also the name of the activity. */
  name: string;
  /** Other names under which models call it. */
  aliases?: readonly string[];
  /** For the model: what it does, in a sentence or two. */
  description: string;
  /** `none`: only reads; may run beside others and be tried again. `some`: runs alone and at most once. */
  effects: ToolEffects;
  parameters: P;
  /** How long a call may take, in ms (default 120,000). */
  timeoutMs?: (args: z.output<P>) => number;
  /** The command that goes on between calls for which a call is: it runs where that is held. */
  commandSession?: (args: z.output<P>) => number | undefined;
  /** What a call works on, in a few words, for people who watch: `npm test`. */
  summary?: (args: z.output<P>) => string;
  run(args: z.output<P>, context: ToolContext): Promise<ToolResult | string>;
}

/** A tool with its argument types erased, as the registry holds it. */
export interface Tool extends Omit<ToolSpec<z.ZodType>, 'timeoutMs' | 'summary' | 'commandSession' | 'run'> {
  timeoutMs: (args: unknown) => number;
  summary: (args: unknown) => string;
  commandSession: (args: unknown) => number | undefined;
  run(args: unknown, context: ToolContext): Promise<ToolResult | string>;
}

const DEFAULT_TIMEOUT_MS = 120_000;

/**
 * Defines a tool: one definition yields its schema for the model, its activity and its documentation.
 *
 * @example
 * export const today = defineTool({
 *   name: 'today',
 *   description: 'The date.',
 *   effects: 'none',
 *   parameters: z.strictObject({}),
 *   run: async () => new Date().toISOString(),
 * });
 */
export function defineTool<P extends z.ZodType>(spec: ToolSpec<P>): Tool {
  return {
    name: spec.name,
    ...(spec.aliases === undefined ? {} : { aliases: spec.aliases }),
    description: spec.description,
    effects: spec.effects,
    parameters: spec.parameters,
    timeoutMs: (args) => spec.timeoutMs?.(args as z.output<P>) ?? DEFAULT_TIMEOUT_MS,
    summary: (args) => spec.summary?.(args as z.output<P>) ?? '',
    commandSession: (args) => spec.commandSession?.(args as z.output<P>),
    run: (args, context) => spec.run(args as z.output<P>, context),
  };
}
