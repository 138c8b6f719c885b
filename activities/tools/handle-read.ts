import { z } from 'zod';
import { CadreError, counted } from '../../protocol/index.ts';
import { bytesWithin } from '../../protocol/output-size.ts';
import { askJson } from '../handles/ask-json.ts';
import {
  countCharacters,
  countLines,
  fitting,
  fittingLines,
  mostFor,
  type Room,
} from '../handles/characters.ts';
import { type HandleContent, startOf } from '../handles/handle-content.ts';
import { countItems, introspect } from '../handles/introspect.ts';
import { openHandle } from '../handles/open-handle.ts';
import { readRange } from '../handles/read-range.ts';
import { readSlice } from '../handles/read-slice.ts';
import { defineTool } from './define-tool.ts';
import { isBinary } from './text-lines.ts';

const VIEWS = ['slice', 'range', 'count', 'jsonpath', 'introspect'] as const;
const MOST_PATH = 2_000;
const LOOKED_AT = 8_192;
/** Kept free in the output for what stands below the text. */
const NOTES_BYTES = 200;

const line = z.int().refine((number) => number !== 0, { error: 'lines are numbered from 1' });

/** False is what models give who give every argument. */
const isGiven = (view: unknown): boolean => view !== undefined && view !== false;

const parameters = z
  .strictObject({
    handle: z
      .string()
      .min(1)
      .describe('As the cut of an output names it (h_…), or transcript:<agent id> for a conversation'),
    slice: z
      .strictObject({
        start: z.int().default(0).describe('First character, from 0; negative: from the end'),
        end: z.int().optional().describe('The first one left out; default: to the end'),
      })
      .optional()
      .describe('Characters'),
    range: z
      .strictObject({
        start: line.default(1).describe('First line, from 1; negative: from the end'),
        end: line.optional().describe('Last line, shown too; default: to the end'),
      })
      .optional()
      .describe('Lines'),
    count: z.enum(['chars', 'lines', 'bytes', 'items']).optional().describe('items: of JSON or JSON lines'),
    jsonpath: z
      .string()
      .min(1)
      .max(MOST_PATH)
      .optional()
      .describe('RFC 9535, such as $.items[0].name; of JSON lines $[0] is the first one'),
    introspect: z.boolean().optional().describe('Its kind, size and shape'),
    max_chars: z.int().positive().optional().describe('Most characters to return'),
  })
  .refine((args) => VIEWS.filter((view) => isGiven(args[view])).length === 1, {
    error: `give exactly one of ${VIEWS.join(', ')}`,
  });
type Arguments = z.output<typeof parameters>;

/** Never cuts what it shows into a new handle: it says how to go on with the one at hand. */
export const handleRead = defineTool({
  name: 'handle_read',
  description:
    'Reads parts of a stored output, or of the conversation of an agent of this session, by handle: give exactly one of slice, range, count, jsonpath, introspect.',
  effects: 'none',
  parameters,
  summary: (args) => `${args.handle} ${VIEWS.find((view) => isGiven(args[view]))}`,
  async run(args, { agent, stateDir, readTranscript, signal }) {
    const limit = bytesWithin(agent.settings.limits.tool_output_limit) - NOTES_BYTES;
    const room: Room = { characters: Math.min(args.max_chars ?? limit, limit), bytes: limit };
    const content = await openHandle(args.handle, { stateDir, session: agent.session_id, readTranscript });
    try {
      return await view(content, args, room, signal);
    } finally {
      await content.close();
    }
  },
});

async function view(
  content: HandleContent,
  args: Arguments,
  room: Room,
  signal: AbortSignal,
): Promise<string> {
  if (args.slice !== undefined) return sliceOf(content, args, room, signal);
  if (args.range !== undefined) return rangeOf(content, args, room, signal);
  if (args.jsonpath !== undefined) return matchesOf(content, args.jsonpath, room, signal);
  const { handle, count } = args;
  const found =
    count === undefined
      ? { handle, ...(await introspect(content, signal)) }
      : { handle, [count]: await COUNTS[count](content, signal) };
  return noted(...cut(JSON.stringify(found), room));
}

const COUNTS: Record<
  NonNullable<Arguments['count']>,
  (content: HandleContent, signal: AbortSignal) => Promise<number>
> = {
  chars: countCharacters,
  lines: countLines,
  bytes: async ({ size }) => size,
  items: countItems,
};

async function sliceOf(
  content: HandleContent,
  args: Arguments,
  room: Room,
  signal: AbortSignal,
): Promise<string> {
  await requireText(content, signal);
  const part = await readSlice(content, args.slice ?? {}, room, signal);
  const { text, start, end, more, total } = part;
  if (text === '') return nothing(total === undefined ? '' : `: it has ${counted(total, 'character')}`);
  const of = total === undefined ? '' : ` of ${total}`;
  const next = more ? `; more follow: go on with slice {"start": ${end}}` : '';
  return noted(text, `characters ${start} to ${end}${of}${next}`);
}

async function rangeOf(
  content: HandleContent,
  args: Arguments,
  room: Room,
  signal: AbortSignal,
): Promise<string> {
  await requireText(content, signal);
  const { text, first, lines, more, nextCharacter, total } = await readRange(
    content,
    args.range ?? {},
    room,
    signal,
  );
  if (total !== undefined) return nothing(`: it has ${counted(total, 'line')}`);
  if (nextCharacter !== undefined) {
    return noted(
      text,
      `the beginning of line ${first}, which is longer: go on with slice {"start": ${nextCharacter}}`,
    );
  }
  const shown = lines === 1 ? `line ${first}` : `lines ${first} to ${first + lines - 1}`;
  const next = more ? `; more follow: go on with range {"start": ${first + lines}}` : '';
  return noted(text, `${shown}${next}`);
}

async function matchesOf(
  content: HandleContent,
  path: string,
  room: Room,
  signal: AbortSignal,
): Promise<string> {
  const answer = await askJson(content, { do: 'query', path, most: 2 * mostFor(room) }, signal);
  if ('problem' in answer) throw unanswered(answer, path);
  if ('form' in answer) throw new Error('a query was answered by a shape');
  const { matches, isCounted } = answer;
  const all = `${isCounted ? '' : 'more than '}${counted(matches, 'match', 'matches')}`;
  if (matches === 0) return nothing(': the path matches nothing');
  const { text, lines, isWhole } = fittingLines(answer.lines.join('\n'), room);
  if (isWhole && lines === matches) return noted(text, all);
  const shown = lines === 0 ? 'the beginning of the first' : `the first ${lines}`;
  return noted(text, `${shown} of ${all}: narrow the path, or slice it as in $.items[10:20]`);
}

function unanswered(
  { problem, message }: { problem: 'not_json' | 'path' | 'too_deep'; message: string },
  path: string,
): CadreError {
  if (problem === 'path') {
    return new CadreError('invalid_arguments', `The JSONPath ${JSON.stringify(path)} is wrong: ${message}.`, {
      hint: 'Write it after RFC 9535: $ is the whole, then .name, [index], [start:end], [*], [?@.name == "value"].',
    });
  }
  if (problem === 'too_deep') {
    return new CadreError('tool_failed', `The JSON cannot be looked into: ${message}.`, {
      hint: path.includes('..') ? 'Use a path without "..", or read it by slice.' : 'Read it by slice.',
    });
  }
  return new CadreError('tool_failed', `What is stored is no JSON: ${message}.`, {
    hint: 'Read it by slice or range; introspect tells what it is.',
  });
}

async function requireText(content: HandleContent, signal: AbortSignal): Promise<void> {
  if (!isBinary(await startOf(content, LOOKED_AT, signal))) return;
  throw new CadreError(
    'tool_failed',
    `What is stored looks like binary data (${counted(content.size, 'byte')}).`,
    { hint: 'introspect tells what it is; there is no text in it to read.' },
  );
}

function cut(text: string, room: Room): [text: string, note?: string] {
  const fit = fitting(text, room);
  return fit.length === text.length ? [text] : [fit, 'cut: there was room for no more'];
}

function noted(text: string, note?: string): string {
  return note === undefined ? text : `${text}\n[${note}]`;
}

function nothing(why: string): string {
  return `[nothing there${why}]`;
}
