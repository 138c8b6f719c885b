import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Item } from './items.ts';

/** The digest of a conversation without items. */
export const EMPTY_DIGEST = '';

/**
 * The digest of a conversation that has grown by one item. Chained, so that each prefix has a digest of its own.
 * Works alike in workflows, which have no node:crypto, and in activities.
 */
export function extendDigest(digest: string, item: Item): string {
  return bytesToHex(sha256(utf8ToBytes(`${digest}\n${JSON.stringify(item)}`))).slice(0, 32);
}
