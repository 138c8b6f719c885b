import { DIALECT_TOOLS } from './dialects.ts';
import type { AgentSettingsInput, Dialect } from './settings.ts';

/** The settings of a root with what its dialect presumes; whatever a person sets wins over it. */
export function withDialectLimits(settings: AgentSettingsInput): AgentSettingsInput {
  const { presumed } = DIALECT_TOOLS[settings.dialect ?? 'collab'];
  return presumed === undefined ? settings : { ...settings, limits: { ...presumed, ...settings.limits } };
}

/** Why a session may not have so many agents at work; undefined where it may. */
export function threadsProblem(dialect: Dialect, threads: number): string | undefined {
  const { threadsMax: most } = DIALECT_TOOLS[dialect];
  if (most === undefined || threads <= most) return undefined;
  return `limits.max_threads: ${threads} is too many with the dialect ${dialect}: ${most} at most`;
}
