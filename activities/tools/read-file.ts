import { z } from 'zod';
import { CadreError, counted } from '../../protocol/index.ts';
import { bytesWithin } from '../../protocol/output-size.ts';
import { withNulShown } from '../with-nul-shown.ts';
import { defineTool } from './define-tool.ts';
import { openOrdinaryFile } from './ordinary-path.ts';
import { pathArgument, shownName } from './path-argument.ts';
import { inspectStart, linesOf, type TextLine } from './text-lines.ts';

const MOST_LINES = 2_000;
/** Of one line; the rest of a longer one is only counted. */
const MOST_LINE_BYTES = 4_000;
/** Kept free in the output for what stands below the lines. */
const NOTES_BYTES = 150;

export const readFile = defineTool({
  name: 'read_file',
  description:
    'Reads a text file, or some of its lines. Every line is shown with its number, counted from 1, and a tab.',
  effects: 'none',
  parameters: z.strictObject({
    path: pathArgument.describe('Absolute, or relative to the working directory'),
    offset: z.int().positive().default(1).describe('First line'),
    limit: z.int().positive().max(MOST_LINES).default(MOST_LINES).describe('Most lines returned'),
  }),
  summary: ({ path }) => path,
  async run({ path, offset, limit }, context) {
    const { file, stats } = await openOrdinaryFile(context.resolve(path));
    try {
      const start = await inspectStart(file);
      if (start.isBinary) {
        throw new CadreError(
          'tool_failed',
          `${shownName(path)} looks like binary data (${counted(stats.size, 'byte')}).`,
          {
            hint: 'Use shell with xxd, strings or file to look into it.',
          },
        );
      }
      const shown: string[] = [];
      let room = bytesWithin(context.agent.settings.limits.tool_output_limit) - NOTES_BYTES;
      let last = 0;
      let more = false;
      for await (const line of linesOf(file, MOST_LINE_BYTES, context.signal)) {
        last = line.number;
        if (line.number < offset) continue;
        const text = show(line);
        room -= Buffer.byteLength(text) + 1;
        more = shown.length >= limit || (room < 0 && shown.length > 0);
        if (more) break;
        shown.push(text);
      }
      if (shown.length === 0) return nothing(path, offset, last);
      if (offset === 1 && start.bom) shown[0] = (shown[0] as string).replace('\ufeff', '');
      const next = offset + shown.length;
      const notes = [
        ...(start.crlf ? ['lines end with CRLF'] : []),
        ...(more ? [`more lines follow: go on with offset ${next}`] : []),
      ];
      return [...shown, ...(notes.length === 0 ? [] : [`[${notes.join('; ')}]`])].join('\n');
    } finally {
      await file.close();
    }
  },
});

function show({ number, text, cutBytes }: TextLine): string {
  const rest = cutBytes === 0 ? '' : ` [… ${counted(cutBytes, 'more byte')} in this line …]`;
  return `${number}\t${withNulShown(text)}${rest}`;
}

function nothing(path: string, offset: number, last: number): string {
  if (last === 0) return `[${shownName(path)} is empty]`;
  throw new CadreError(
    'invalid_arguments',
    `${shownName(path)} has ${counted(last, 'line')}; there is no line ${offset}.`,
  );
}
