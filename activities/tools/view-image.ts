import { z } from 'zod';
import { CadreError } from '../../protocol/index.ts';
import { keepImage } from '../model/providers/image-file.ts';
import { inSystemWords } from '../system-reason.ts';
import { defineTool } from './define-tool.ts';
import { ordinaryPath } from './ordinary-path.ts';
import { pathArgument, shownName } from './path-argument.ts';

export const viewImage = defineTool({
  name: 'view_image',
  description:
    'Shows you an image file: PNG, JPEG, GIF or WebP, up to 10 MiB. You see it with the result of this call, as it is now.',
  effects: 'none',
  parameters: z.strictObject({
    path: pathArgument.describe('Absolute, or relative to the working directory'),
  }),
  summary: ({ path }) => path,
  async run({ path }, context) {
    const { real } = await ordinaryPath(context.resolve(path));
    // It stays what it was, whatever becomes of the file.
    const kept = await keepImage(real, context.stateDir).catch((error: unknown) => {
      const problem = inSystemWords(error) ?? (error instanceof Error ? error.message : String(error));
      throw new CadreError('tool_failed', `${shownName(path)} cannot be shown: ${problem}.`, {
        hint: 'Other files are read with read_file, or by a command.',
        cause: error,
      });
    });
    return { output: `The image ${shownName(path)}:`, success: true, image: { path: real, ...kept } };
  },
});
