import { DIALECT_TOOLS, type Dialect } from '../../protocol/index.ts';
import type { Table } from './key-path.ts';
import { type Layer, namedLayer } from './layer.ts';

export const CLASSIC = 'classic';

/** `profile = "classic"`: fewer agents, short waits, and every open agent counts against the limit. */
const CLASSIC_LIMITS = {
  max_threads: 5,
  count: 'open',
  wait_min_ms: 10_000,
  wait_default_ms: 30_000,
  wait_max_ms: 300_000,
};

/** Defaults that follow from other settings. They lie below everything that a person wrote. */
export function builtInLayers(dialect: unknown, classic: boolean): Layer[] {
  return [
    limitsLayer(presumedBy(dialect), `dialect ${String(dialect)}`),
    limitsLayer(classic ? CLASSIC_LIMITS : {}, `profile ${CLASSIC}`),
  ];
}

/** It may be a word that is no dialect, which is told later. */
function presumedBy(dialect: unknown): Table {
  return Object.hasOwn(DIALECT_TOOLS, String(dialect))
    ? { ...DIALECT_TOOLS[dialect as Dialect].presumed }
    : {};
}

function limitsLayer(limits: Table, where: string): Layer {
  return namedLayer(
    'built-in',
    Object.entries(limits).map(([key, value]) => ({ path: ['agents', key], value, where })),
  );
}
