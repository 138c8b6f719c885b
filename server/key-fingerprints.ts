import { createHmac } from 'node:crypto';
import type { KeyRing } from '../protocol/index.ts';

const OF = 'cadre key fingerprint';

/** What tells keys from others of the same ids: a hash under each key, which says nothing about the key itself. */
export function keyFingerprints(ring: KeyRing | undefined): string[] {
  return [...(ring?.keys ?? [])].map(
    ([id, key]) => `${id}:${createHmac('sha256', key).update(OF).digest('hex')}`,
  );
}
