import type {
  CallToolResult,
  InputRequiredResult,
  McpServer,
  ServerContext,
  StandardSchemaWithJSON,
  ToolAnnotations,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { CadreError, type ErrorBody } from '../../protocol/index.ts';
import { failureOf } from '../errors.ts';
import { fullError } from '../full-error.ts';
import { type CommonOptions, type Invocation, outputOptionsOf } from '../invocation.ts';
import { LastingInvocation, type Workplaces } from '../workplaces.ts';
import { AnsweringOutput } from './answering-output.ts';
import type { OwnSessions } from './own-sessions.ts';
import { Progress } from './progress.ts';
import { inToolWords } from './tool-words.ts';

/** What all tools of one server share. */
export interface ServerState {
  options: CommonOptions;
  workplaces: Workplaces;
  sessions: OwnSessions;
  /** In ms: `run` and `wait` answer after this time at the latest, where the call says nothing else. */
  timeout: number | undefined;
}

/** `modern`: the protocol of 2026-07-28, where a question is an answer to the call; before it was a request of its own. */
export type Era = 'legacy' | 'modern';

/** One call of a tool. */
export interface Call extends ServerState {
  /** Runs commands; their answer is kept. */
  invocation: Invocation;
  output: AnsweringOutput;
  progress: Progress;
  request: ServerContext['mcpReq'];
  era: Era;
  /** Whether the person behind the client can be asked something in the middle of a call. */
  canAsk: boolean;
}

/** What a tool has to say. */
export interface Answer {
  /** As the output schema has it. */
  fields: Record<string, unknown>;
  /** What goes before the fields, for clients that read only text. */
  text?: string;
  /** What the tool did went well, what it was asked for did not. */
  error?: ErrorBody;
}

export interface McpTool<Input extends z.ZodObject = z.ZodObject> {
  name: string;
  title: string;
  description: string;
  input: Input;
  output: z.ZodObject;
  annotations: ToolAnnotations;
  run(args: z.output<Input>, call: Call): Promise<Answer | InputRequiredResult>;
}

/** Keeps the types of a tool's arguments together. */
export function defineMcpTool<Input extends z.ZodObject>(tool: McpTool<Input>): McpTool {
  return tool as unknown as McpTool;
}

/** Puts a tool on a server. Whatever goes wrong is the tool's answer, with Cadre's own error in it. */
export function offer(server: McpServer, tool: McpTool, state: ServerState, era: Era): void {
  const { name, title, description, output, annotations } = tool;
  const config = {
    title,
    description,
    inputSchema: unchecked(tool.input),
    outputSchema: output,
    annotations,
  };
  server.registerTool(name, config, async (args: unknown, { mcpReq: request }: ServerContext) => {
    const { options, workplaces } = state;
    const answering = new AnsweringOutput(outputOptionsOf(options));
    const progress = new Progress(request);
    try {
      const call: Call = {
        ...state,
        invocation: new LastingInvocation(options, answering, workplaces),
        output: answering,
        progress,
        request,
        era,
        canAsk: canElicit(server, request),
      };
      const answer = await tool.run(checkedArguments(tool, args), call);
      return 'fields' in answer ? resultOf(answer as Answer, answering.notices) : answer;
    } catch (error) {
      const { body, trace } = failureOf(error);
      if (trace !== undefined) answering.debug(trace);
      return failed(body);
    } finally {
      progress.end();
    }
  });
}

/** The schema as clients see it; arguments are checked by `checkedArguments`, so that errors are Cadre's own. */
function unchecked(schema: z.ZodObject): StandardSchemaWithJSON {
  const standard = schema['~standard'] as unknown as StandardSchemaWithJSON['~standard'];
  return { '~standard': { ...standard, validate: (value: unknown) => ({ value }) } };
}

function checkedArguments(tool: McpTool, args: unknown): Record<string, unknown> {
  const parsed = tool.input.safeParse(args ?? {});
  if (parsed.success) return parsed.data;
  const problems = z
    .prettifyError(parsed.error)
    .replaceAll(/\s*\n\s*/g, ' ')
    .replace(/^✖ /, '');
  throw new CadreError('invalid_arguments', `${tool.name}: ${problems}`, {
    hint: `It takes: ${Object.keys(tool.input.shape).join(', ')}.`,
  });
}

/** A client of before 2026-07-28 says what it can once, a later one with every call. */
function canElicit(server: McpServer, { envelope }: ServerContext['mcpReq']): boolean {
  const said = envelope as Record<string, unknown> | undefined;
  const own = said?.['io.modelcontextprotocol/clientCapabilities'] ?? server.server.getClientCapabilities();
  const { elicitation } = (own ?? {}) as { elicitation?: Record<string, unknown> };
  return elicitation !== undefined && ('form' in elicitation || !('url' in elicitation));
}

function resultOf({ fields, text, error }: Answer, notices: readonly string[]): CallToolResult {
  const structured = { ...fields, ...(notices.length === 0 ? {} : { notices: notices.map(inToolWords) }) };
  const texts = [...(text === undefined ? [] : [text]), JSON.stringify(structured)];
  return {
    content: texts.map((each) => ({ type: 'text', text: each })),
    structuredContent: structured,
    ...(error === undefined ? {} : { isError: true }),
  };
}

function failed(body: ErrorBody): CallToolResult {
  const error = toolError(body);
  return { content: [{ type: 'text', text: JSON.stringify({ error }) }], isError: true };
}

/** An error as clients get it: with advice that they can follow. */
export function toolError<E extends ErrorBody>(body: E): E & Required<ErrorBody> {
  const error = fullError(body);
  return { ...error, hint: inToolWords(error.hint) };
}
