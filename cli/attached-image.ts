import { resolve } from 'node:path';
import { CadreError } from '../protocol/index.ts';
import type { AttachedImage } from './session-settings.ts';

/**
 * What the model could not be shown is found out before the work, and what it is to be shown is noted.
 *
 * @param option where the path was given, for errors
 */
export async function attachedImage(path: string, option: string): Promise<AttachedImage> {
  if (/^(https?|data):/i.test(path)) {
    throw new CadreError('usage', `${option} takes a file, and ${path.slice(0, 60)} is an address.`, {
      hint: 'Name a PNG, JPEG, GIF or WebP file; an address may stand in the task.',
    });
  }
  const { imageDigest } = await import('../worker/preflight.ts');
  const whole = resolve(path);
  const found = imageDigest(whole);
  if ('sha256' in found) return { path: whole, ...found };
  throw new CadreError('usage', `${option}: ${whole}: ${found.problem}.`, {
    hint: 'Name a PNG, JPEG, GIF or WebP file; the agent reads other files itself when the task names them.',
  });
}
