import type { z } from 'zod';
import type { AgentContext, ApprovalRule, ImageFile, PlanStep, ToolEffects } from '../../protocol/index.ts';
import type { CommandSessions } from '../commands/command-sessions.ts';
import type { ReadTranscript } from '../handles/transcripts.ts';
import type { OwnPlaces } from '../sandbox/sandboxed-command.ts';

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
  /** Commands that a person has allowed in advance. */
  approvalRules?: readonly ApprovalRule[];
  /** Nobody can be asked for an approval. */
  nonInteractive: boolean;
  /** The session lets models see image files (`tools.view_image`). */
  seesImages: boolean;
  /** Folder for stored outputs (CADRE_HOME). */
  stateDir: string;
  /** What no command in a sandbox may change, beside that. */
  readOnly?: OwnPlaces['readOnly'];
  /** The conversation of an agent; a tool has to see to it that it is one of the same session. */
  readTranscript: ReadTranscript;
  /** The commands of this worker that go on between calls. */
  commands: CommandSessions;
  /**
   * An absolute path, from one that may be relative to the agent's working directory.
   *
   * @throws CadreError `invalid_arguments` for one with a NUL byte
   */
  resolve(path: string): string;
}

/**
 * What a tool answers; a bare string is a success. Long outputs are cut and stored by the caller. All that stands beside
 * `output` and `success` is for Cadre's own tools, and dropped where another gives it back.
 */
export interface ToolResult {
  output: string;
  success: boolean;
  /** Names the stored whole of an output that the tool has cut itself, as it would not fit into memory. */
  handle?: string;
  plan?: { plan: PlanStep[]; explanation?: string };
  /** An image file that the model is shown with the output. */
  image?: ImageFile;
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
  /** Cadre's own tools only: the command that goes on between calls for which a call is; it runs where that is held. */
  commandSession?: (args: z.output<P>) => number | undefined;
  /** What a call works on, in a few words, for people who watch: `npm test`. */
  summary?: (args: z.output<P>) => string;
  /** What the model shall do where nobody knows whether a call had its effect (default: look before it tries again). */
  ifLost?: string;
  run(args: z.output<P>, context: ToolContext): Promise<ToolResult | string>;
}

/** A tool with its argument types erased, as the registry holds it. */
export interface Tool extends Omit<ToolSpec<z.ZodType>, 'timeoutMs' | 'summary' | 'commandSession' | 'run'> {
  /** Of the arguments as models are shown it; default: that of `parameters`. */
  schema?: Record<string, unknown>;
  timeoutMs: (args: unknown) => number;
  summary: (args: unknown) => string;
  commandSession: (args: unknown) => number | undefined;
  run(args: unknown, context: ToolContext): Promise<ToolResult | string>;
}

const DEFAULT_TIMEOUT_MS = 120_000;
/** 24 days: what a timer can hold. */
const MOST_TIMEOUT_MS = 2 ** 31 - 1;

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
    ...(spec.ifLost === undefined ? {} : { ifLost: spec.ifLost }),
    parameters: spec.parameters,
    // What is no function is left as it is, for the check of the worker that gets it: not all tools are compiled.
    timeoutMs: orAsIs(spec.timeoutMs, (args) => timeoutOf(spec, args as z.output<P>)),
    summary: orAsIs(spec.summary, (args) => spec.summary?.(args as z.output<P>) ?? ''),
    commandSession: (args) => spec.commandSession?.(args as z.output<P>),
    run:
      typeof spec.run === 'function' ? (args, context) => spec.run(args as z.output<P>, context) : spec.run,
  };
}

function orAsIs<F>(given: unknown, wrapped: F): F {
  return given === undefined || typeof given === 'function' ? wrapped : (given as F);
}

/** Asked before the call runs, where nobody could tell the model of a mistake in it. */
function timeoutOf<P extends z.ZodType>(spec: ToolSpec<P>, args: z.output<P>): number {
  try {
    const ms = spec.timeoutMs?.(args) ?? DEFAULT_TIMEOUT_MS;
    return Number.isFinite(ms) && ms > 0 ? Math.min(Math.ceil(ms), MOST_TIMEOUT_MS) : DEFAULT_TIMEOUT_MS;
  } catch {
    return DEFAULT_TIMEOUT_MS;
  }
}
