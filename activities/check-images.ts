import type { ImagesAnswer, ImagesRequest } from '../protocol/index.ts';
import { imageAddress } from './model/providers/image-file.ts';

/** The `check_images` activity: which files a model could not be shown, and why; looked at where the agents work. */
export async function checkImages({ directory, images }: ImagesRequest): Promise<ImagesAnswer> {
  const problems: ImagesAnswer['problems'] = [];
  for (const { path, sha256 } of images) {
    try {
      await imageAddress(path, directory, sha256);
    } catch (error) {
      problems.push({ path, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { problems };
}
