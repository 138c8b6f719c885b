import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { DataConverter, PayloadCodec } from '@temporalio/common';
import type { KeyRing } from '../protocol/index.ts';
import { compression } from './compression.ts';
import { encryption } from './encryption.ts';

/** In the order of writing; reading goes the other way round. What seals comes last, since it leaves nothing to shrink. */
export function payloadCodecs(keys?: KeyRing): PayloadCodec[] {
  return keys === undefined ? [compression] : [compression, encryption(keys)];
}

/**
 * The same for every client and worker of Cadre: JSON that is compressed where it is large.
 *
 * @param keys with them everything is sealed, the texts of failures included
 */
export function dataConverter(keys?: KeyRing): DataConverter {
  return {
    payloadConverterPath: payloadConverterPath(),
    payloadCodecs: payloadCodecs(keys),
    ...(keys === undefined ? {} : { failureConverterPath: pathOf('failure-converter') }),
  };
}

export function payloadConverterPath(): string {
  return pathOf('payload-converter');
}

/** The bundler and `require` want a path: compiled in dist, as it is in the sources. */
function pathOf(module: string): string {
  const compiled = fileURLToPath(new URL(`./${module}.js`, import.meta.url));
  return existsSync(compiled) ? compiled : fileURLToPath(new URL(`./${module}.ts`, import.meta.url));
}
