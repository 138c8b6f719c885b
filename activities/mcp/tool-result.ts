import type { ImageFile } from '../../protocol/index.ts';
import { keepImageData } from '../model/providers/image-file.ts';
import type { ToolContext, ToolResult } from '../tools/define-tool.ts';
import { type CallResult, type Part, resultText } from './result-text.ts';

/** The answer of a server as a model gets it: with the first image that can be shown, and why others are not. */
export async function toolResult(
  result: CallResult,
  { stateDir, seesImages }: Pick<ToolContext, 'stateDir' | 'seesImages'>,
): Promise<ToolResult> {
  const said = new Map<Part, string>();
  let image: ImageFile | undefined;
  for (const part of result.content ?? []) {
    if (part.type !== 'image') continue;
    const problem = !seesImages
      ? 'tools.view_image is off'
      : image !== undefined
        ? 'an output shows one image, and another stands before it'
        : undefined;
    if (problem !== undefined) {
      said.set(part, `not shown: ${problem}`);
      continue;
    }
    try {
      image = await keepImageData(part.data ?? '', stateDir);
      said.set(part, 'shown with this output');
    } catch (error) {
      said.set(part, `not shown: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const output = resultText(result, said);
  return { output, success: result.isError !== true, ...(image === undefined ? {} : { image }) };
}
