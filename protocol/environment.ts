import { matchesGlob } from './glob.ts';

/** Names that look like keys: commands never see them unless a person includes them. */
export const SECRET_NAMES: readonly string[] = [
  '*KEY*',
  '*TOKEN*',
  '*SECRET*',
  '*PASSWORD*',
  // Where OpenTelemetry's exporters find the key of the collector.
  'OTEL_EXPORTER_OTLP*_HEADERS',
];

/** `[shell_environment]`: names or globs, case does not matter. */
export interface EnvironmentFilter {
  /** Kept although they look like keys. */
  include?: readonly string[];
  /** Left out, whatever else says; wins over `include`. */
  exclude?: readonly string[];
}

/** The environment that commands may see: that of the person, without what looks like a key. */
export function filterEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  filter: EnvironmentFilter = {},
): Record<string, string> {
  const listed = (name: string, globs: readonly string[] = []) =>
    globs.some((glob) => matchesGlob(name, glob, { ignoreCase: true }));
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined || listed(name, filter.exclude)) continue;
    if (listed(name, SECRET_NAMES) && !listed(name, filter.include)) continue;
    kept[name] = value;
  }
  return kept;
}
