import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { CadreError, filterEnvironment } from '../../protocol/index.ts';
import { systemReason } from '../system-reason.ts';
import { defineTool } from './define-tool.ts';

const MOST_NOTE = 1_000;
const MOST_FILE_BYTES = 1024 * 1024;
/** A value that is shorter is no key, and would be found in any text. */
const LEAST_SECRET = 8;
/** A file that has not grown for this long is written to by nobody. */
const STILL_MS = 100;

/** Takes no approval: it writes to no file but the one that the person has named. */
export const remember = defineTool({
  name: 'remember',
  description:
    'Keeps a short note for later sessions in the memory file: what will be of use and stands nowhere else, such as a convention, a trap or a decision of the person. Never secrets, and nothing that only matters to this task.',
  effects: 'some',
  parameters: z.strictObject({
    note: z
      .string()
      .trim()
      .min(1)
      .max(MOST_NOTE)
      .describe('One fact, to be understood without this conversation'),
  }),
  summary: ({ note }) => note,
  async run({ note }, { agent }) {
    const { memory } = agent.settings;
    if (memory === undefined) throw new CadreError('tool_not_allowed', 'This agent has no memory.');
    const secret = secretIn(note);
    if (secret !== undefined) {
      throw new CadreError(
        'invalid_arguments',
        `The note holds the value of ${secret}, which is kept secret.`,
        {
          hint: 'Name the variable, and leave its value out.',
        },
      );
    }
    await append(memory.path, `- ${new Date().toISOString().slice(0, 10)}: ${oneLine(note)}\n`);
    return `Remembered in ${memory.path}: agents that start from now on are told.`;
  },
});

/** In one write at the end of the file: of what several processes add at once nothing is lost or mixed. */
async function append(path: string, line: string): Promise<void> {
  const file = await opened(path).catch((error: unknown) => {
    throw new CadreError('tool_failed', `The memory ${path} ${systemReason(error, 'written')}.`, {
      hint: 'Nothing was noted. Tell the person.',
      cause: error,
    });
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new CadreError('tool_failed', `The memory ${path} is no ordinary file.`);
    if (stats.size + line.length > MOST_FILE_BYTES) {
      throw new CadreError('tool_failed', `The memory ${path} is full: it has ${stats.size} bytes.`, {
        hint: `Nothing was noted. Tell the person: what is out of date has to be taken out, ${MOST_FILE_BYTES} bytes are the most.`,
      });
    }
    await file.writeFile((await endsWithinLine(file)) ? `\n${line}` : line);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function opened(path: string): Promise<FileHandle> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  return open(path, 'a+', 0o600);
}

/** As an editor may leave it. A file that still grows does not count: what another process adds appears page by page. */
async function endsWithinLine(file: FileHandle): Promise<boolean> {
  for (let before = -1; ; await sleep(STILL_MS)) {
    const { size } = await file.stat();
    if (size === 0) return false;
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
    if (buffer[0] === 0x0a || size === before) return buffer[0] !== 0x0a;
    before = size;
  }
}

function oneLine(note: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what would break the line, or the terminal of a reader
  return note.replace(/[\s\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
}

/** The variable of this process whose value the note holds, of those that commands do not get. */
function secretIn(note: string): string | undefined {
  const shown = filterEnvironment(process.env);
  const secrets = Object.entries(process.env).filter(([name]) => !(name in shown));
  return secrets.find(
    ([, value]) => value !== undefined && value.length >= LEAST_SECRET && note.includes(value),
  )?.[0];
}
