import type { ContentPart } from '../../protocol/index.ts';
import { checkImages } from '../activity-calls.ts';
import { Refused } from './refused.ts';

/** How many are named in a refusal. */
const NAMED = 5;

/**
 * Whoever names an image that is not there is told so; its receiver would be left with a task that it cannot see.
 *
 * @param directory where the receiver works: its paths begin there
 * @throws Refused for files that a model cannot be shown
 */
export async function requireImages(content: readonly ContentPart[], directory: string): Promise<void> {
  const images = content.filter((part) => part.type === 'local_image');
  if (images.length === 0) return;
  const { problems } = await checkImages({ directory, images });
  if (problems.length === 0) return;
  const named = problems.slice(0, NAMED).map(({ path, reason }) => `${path}: ${reason}`);
  if (problems.length > NAMED) named.push(`${problems.length - NAMED} more`);
  throw new Refused({
    code: 'invalid_arguments',
    message: `not every image can be attached: ${named.join('; ')}`,
    hint: `Nothing was sent. Paths begin in ${directory}, where the receiver works.`,
  });
}

/** Whether there is anything to look at. */
export function hasImages(content: readonly ContentPart[]): boolean {
  return content.some((part) => part.type === 'local_image');
}
