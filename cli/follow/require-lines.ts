import { CadreError } from '../../protocol/index.ts';
import type { Output } from '../output.ts';

/** @throws CadreError `usage` where pieces of answers would have no place */
export function requireLines({ format }: Output): void {
  if (format === 'jsonl') return;
  throw new CadreError('usage', '--stream tells answers in pieces, as lines of JSON.', {
    hint: 'Give --jsonl with it.',
  });
}
