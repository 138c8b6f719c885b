import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Of outputs of 8 KB: what compresses like source code, or what does not compress. */
export type OutputKind = 'source' | 'random';

/** Files `output-0.txt` and so on of 8 KB each, for an agent to read. */
export function writeOutputs(folder: string, count: number, kind: OutputKind): void {
  const source = sourceCode();
  for (let index = 0; index < count; index++) {
    const start = (index * 4_000) % Math.max(1, source.length - 8_000);
    const text = kind === 'random' ? randomLines() : source.slice(start, start + 8_000);
    writeFileSync(join(folder, `output-${index}.txt`), text);
  }
}

/** 8 KB in lines, as `base64` prints bytes: six bits of each character cannot be compressed away. */
function randomLines(): string {
  return (
    randomBytes(5_920)
      .toString('base64')
      .match(/.{1,76}/g) ?? []
  ).join('\n');
}

/** This repository's own workflow code, as a model would read it. */
function sourceCode(): string {
  const folder = new URL('../../workflows/', import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  return files.map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');
}
