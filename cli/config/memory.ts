import { join } from 'node:path';
import type { Config } from './schema.ts';

/**
 * The memory file of this person; undefined where memory is off.
 *
 * @param home CADRE_HOME
 */
export function memoryFile({ memory }: Config, home: string): string | undefined {
  return memory.enabled ? (memory.path ?? join(home, 'memory.md')) : undefined;
}
