import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { DataConverter, PayloadCodec } from '@temporalio/common';
import { compression } from './compression.ts';

/** In the order of writing; reading goes the other way round. What seals comes last, since it leaves nothing to shrink. */
export const payloadCodecs: readonly PayloadCodec[] = [compression];

/** The same for every client and worker of Cadre: JSON that is compressed where it is large. */
export function dataConverter(): DataConverter {
  return { payloadConverterPath: payloadConverterPath(), payloadCodecs: [...payloadCodecs] };
}

/** The bundler and `require` want a path: compiled in dist, as it is in the sources. */
export function payloadConverterPath(): string {
  const compiled = fileURLToPath(new URL('./payload-converter.js', import.meta.url));
  return existsSync(compiled) ? compiled : fileURLToPath(new URL('./payload-converter.ts', import.meta.url));
}
